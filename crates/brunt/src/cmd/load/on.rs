//! `--on`: the load is made by agents of a fleet, each a part of its threads, and reported as one.
//!
//! Connections, rates, stages and requests of the description are those of all agents together; `-t`, `--cores` and `--source` are those of
//! each.

mod collected;
mod feeds;
mod machines;
mod now;
mod refused;
mod sent_script;
mod told;

pub(in crate::cmd) use collected::report as collected;
pub(super) use now::Watched;
pub(in crate::cmd) use sent_script::SentScript;

use super::observer::LoadObserver;
use super::script::Scripting;
use super::there::ThereFlags;
use super::{Args, requests, usage};
use crate::cmd::fleet::ssh::{self, Host, Launched};
use crate::cmd::fleet::{Shipped, ceiling, chosen, failed, secrets};
use brunt_fleet::coordinator::{Config, Member, Outcome};
use brunt_fleet::nats::{self, About, Access, Offered};
use brunt_fleet::words::File;
use brunt_load::remote::{Measured, coordinate};
use brunt_load::script::Wrk;
use brunt_load::{LoadError, Options, Report};
use brunt_results::calibration::HttpKey;
use brunt_results::{Cores, Count, Error, Rate, RunResult, Span};
use brunt_runtime::net::Address;
use brunt_spec::LoadSpec;
use feeds::Feeds;
use machines::Machines;
use now::Now;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A number of requests without `-d` ends after this time at the latest, with the warm-up: what agents allow unless told otherwise.
const LONGEST: Duration = Duration::from_secs(3600);
/// For how long agents may open their connections beyond what a load on this machine may take.
const CONNECT: Duration = Duration::from_secs(30);
/// Agents give up a file after 30 s without an answer, and say so before the coordinator does; a slow network sends 1 MB/s to all of them.
const FETCH_NS: i64 = 35_000_000_000;
/// Bytes of a description, whose text is escaped twice in a message of at most 1 MiB.
const DESCRIPTION: usize = 384 << 10;

#[derive(Debug, clap::Args)]
pub(super) struct OnFlags {
    /// Let agents of a fleet make the load: so many, those of these names, those with a label, or some that are started over ssh for it,
    /// as 4, web-1,web-2, role=load or ssh://web-1,ssh://me@web-2; -c, -n, -R and -d are those of all together, -t, --cores and --source
    /// those of each
    #[arg(long, value_name = "N|NAMES|LABEL=VALUE|ssh://HOSTS", help_heading = "Fleet", conflicts_with_all = ["once", "compare"])]
    on: Option<String>,
    /// With --on: also while another load of the fleet goes to the same address
    #[arg(long, requires = "on", help_heading = "Fleet")]
    with_others: bool,
    /// Load also if the clocks of agents are known to worse than 5 ms: they then begin and end apart by as much, and the result tells it
    #[arg(long, help_heading = "Fleet", requires = "on")]
    allow_skew: bool,
}

/// The agents of a load.
pub(super) struct Chosen {
    access: Access,
    agents: Vec<About>,
    /// Load threads of each.
    threads: usize,
    /// How well clocks have to be known.
    skew_ns: Option<i64>,
    /// What was started for this load.
    _launched: Option<Launched>,
    /// The load as it was typed.
    typed: LoadSpec,
    /// Another load may have the same target.
    with_others: bool,
}

impl OnFlags {
    pub fn is_given(&self) -> bool {
        self.on.is_some()
    }

    /// The agents that were asked for; `None` without `--on`. Does not wait for them any more once `stop` is set.
    ///
    /// # Errors
    /// They are not there, or run another program.
    pub fn choose(
        &self,
        spec: &LoadSpec,
        there: &ThereFlags,
        stop: Option<&AtomicBool>,
    ) -> Result<Option<Chosen>, Error> {
        let Some(on) = &self.on else {
            return match there.fleet.is_given() && !there.is_given() && !there.has_probe() {
                true => usage("--fleet says where agents are: add --on, --meter or --probe"),
                false => Ok(None),
            };
        };
        let (access, agents, launched) = if on.starts_with("ssh://") {
            let hosts = on
                .split(',')
                .map(|host| host.trim().parse::<Host>().map_err(|why| Error::Usage(format!("--on: {why}"))));
            let mut launched = ssh::launch(&hosts.collect::<Result<Vec<_>, _>>()?)?;
            let agents = chosen("--on", &launched.ids.join(","), launched.agents(stop)?)?;
            (launched.access.clone(), agents, Some(launched))
        } else {
            let access = there.fleet.of_operator()?;
            let found = nats::agents(&access).map_err(failed)?;
            (access, chosen("--on", on, found)?, None)
        };
        let threads =
            spec.threads.map_or_else(|| spec.cores.as_ref().map_or(1, Cores::count), |count| count.0 as usize);
        let (typed, with_others) = (spec.clone(), self.with_others);
        let skew_ns = (!self.allow_skew).then_some(Config::SKEW_NS);
        Ok(Some(Chosen { access, agents, threads, skew_ns, _launched: launched, typed, with_others }))
    }
}

impl Chosen {
    /// Ids of the agents.
    pub fn ids(&self) -> Vec<&str> {
        self.agents.iter().map(|agent| agent.id.as_str()).collect()
    }

    /// Number of agents.
    pub fn count(&self) -> usize {
        self.agents.len()
    }

    /// The description of the whole load as this machine reads it: with the threads of all agents.
    pub fn whole(&self, args: &Args) -> Result<LoadSpec, Error> {
        refused::check(args)?;
        let threads = Some(Count((self.threads * self.agents.len()) as u64));
        let duration = longest(&args.spec)?.or(args.spec.duration);
        let spec = LoadSpec { threads, duration, cores: None, source: None, ..args.spec.clone() };
        // Agents have them; what is sent is the same without.
        Ok(secrets::without(spec))
    }

    /// Whether each agent can measure its own ceiling of this load.
    ///
    /// # Errors
    /// It cannot.
    pub fn check_ceilings(&self, options: &Options, has_files: bool) -> Result<(), Error> {
        refused::check_ceilings(options, has_files)
    }

    /// The ceiling of each agent, all measured at once. Returns why one has none, by the name of the figure.
    pub fn ceilings(&self, options: &Options, result: &mut RunResult) -> BTreeMap<String, String> {
        let body = result.responses.as_ref().and_then(HttpKey::mean_body_bytes);
        let body = body.or_else(|| options.target.http().is_none().then_some(0));
        let rates = match (self.shipped(options, None, Vec::new()), body) {
            (Ok(shipped), Some(body)) => ceiling::of_all(&self.access, &self.agents, self.threads, &shipped.spec, body),
            (Err(error), _) => vec![Err(error.to_string()); self.agents.len()],
            (_, None) => vec![Err("there was no reply to use as a model".to_owned()); self.agents.len()],
        };
        let mut absent = BTreeMap::new();
        for (agent, rate) in self.agents.iter().zip(rates) {
            let figure = format!("fleet.agents.{}.ceiling_rate", agent.id);
            let rate = rate.map_err(|why| absent.insert(figure, why)).ok();
            let seen = result.fleet.iter_mut().flat_map(|fleet| &mut fleet.agents);
            seen.filter(|seen| seen.id == agent.id).for_each(|seen| seen.ceiling_rate = rate);
        }
        absent
    }

    /// What is loaded, by address. One that each machine has for itself is another on each.
    fn targets(&self, options: &Options) -> Vec<String> {
        let hosts: BTreeSet<&str> = self.agents.iter().map(|agent| agent.host.as_str()).collect();
        let of = |address: &Address| match address.tcp() {
            Some(tcp) if !tcp.ip().is_loopback() => vec![tcp.to_string()],
            _ => hosts.iter().map(|host| format!("{address} of {host}")).collect(),
        };
        let targets: BTreeSet<String> = options.target.addresses().iter().flat_map(of).collect();
        targets.into_iter().collect()
    }

    /// The description that agents get; what follows from the number of threads is in it.
    fn shipped(&self, options: &Options, script: Option<SentScript>, files: Vec<File>) -> Result<Shipped, Error> {
        let mut spec = LoadSpec { seed: Some(options.seed), ..secrets::names(self.typed.clone())? };
        if spec.duration.is_none() && spec.stages.is_empty() && options.requests.is_some() {
            spec.duration = Some(Span(options.duration));
        }
        if spec.connections.is_none() && options.connection_stages.is_empty() {
            let all = Count(options.connections as u64);
            (spec.connections, spec.connections_per_core) =
                (Some(brunt_results::stages::Range { from: all, to: all }), None);
        }
        if spec.rate_per_core.take().is_some() {
            let all = Rate(options.rate.unwrap_or_default());
            spec.rate = Some(brunt_results::stages::Range { from: all, to: all });
        }
        Ok(Shipped { spec, counts: options.counts, files, script })
    }

    /// The run, whose agents fetch these files, of so many bytes without those that are there twice.
    fn config(
        &self,
        options: &Options,
        script: Option<SentScript>,
        files: Vec<File>,
        bytes: u64,
    ) -> Result<Config, Error> {
        let ns = |time: Duration| i64::try_from(time.as_nanos()).unwrap_or(i64::MAX);
        let member = |(number, agent): (usize, &About)| {
            let first = number * self.threads;
            Member { id: agent.id.clone(), first, end: first + self.threads }
        };
        let day = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let fetch_ns = match files.is_empty() {
            true => 0,
            false => FETCH_NS.saturating_add(ns(Duration::from_micros(bytes.saturating_mul(self.agents.len() as u64)))),
        };
        let shipped = self.shipped(options, script, files)?;
        let load = serde_json::to_value(shipped).map_err(|error| Error::Failed(error.to_string()))?;
        let length = load.to_string().len();
        if length > DESCRIPTION {
            return Err(Error::Failed(format!(
                "--on: the description of the load has {length} bytes, and a message has room for {DESCRIPTION}: put \
                 what is long into files, and many files into one"
            )));
        }
        // As a load on this machine waits for them.
        let slowest = options.connect_rate.unwrap_or(1000.0).max(1.0);
        let connect = options.timeout + Duration::from_secs_f64(options.connections as f64 / slowest) + CONNECT;
        Ok(Config {
            owner: owner(),
            run: format!("{:x}-{:04x}", day.as_secs(), day.subsec_nanos() as u16 ^ std::process::id() as u16),
            epoch: 1,
            members: self.agents.iter().enumerate().map(member).collect(),
            threads: options.threads.len(),
            targets: self.targets(options),
            is_exclusive: !self.with_others,
            load,
            warmup_ns: ns(options.warmup),
            window_ns: ns(options.duration),
            ends_by_count: options.requests.is_some(),
            drain_ns: ns(options.timeout),
            prepare_ns: fetch_ns,
            connect_ns: ns(connect),
            skew_ns: self.skew_ns,
            tolerate: 0,
            tries: Config::TRIES,
            seed: day.as_nanos() as u64,
        })
    }

    /// Makes the load of `options`, which are those of the whole load; they and the script were read from these files. Its agents are
    /// told in the directory while it goes on.
    ///
    /// # Errors
    /// There is no result: an agent refused it, or the load did not begin.
    pub fn run(
        &self,
        options: &Options,
        script: (&Scripting, Option<&Wrk>),
        files: BTreeSet<PathBuf>,
        directory: Option<&Path>,
        stop: &Arc<AtomicBool>,
        observer: &mut LoadObserver,
    ) -> Result<(Report, Made), Error> {
        let (files, offered) = Offered::of(files).map_err(|why| Error::Failed(format!("--on: {why}")))?;
        let config = self.config(options, SentScript::of(script.0, script.1), files, offered.bytes())?;
        let run_id = config.run.clone();
        let machines: Vec<(String, usize)> =
            config.members.iter().map(|member| (format!("agent {}", member.id), member.first)).collect();
        let ids: Vec<String> = config.members.iter().map(|member| member.id.clone()).collect();
        let now = Now::new(&ids, directory);
        observer.begin_on_agents(&run_id, Watched::new(now.clone()));
        let (mut kept, mut measured) = (None, Vec::new());
        let (access, agents) = (self.access.clone(), self.agents.clone());
        let others = |feeds: Vec<brunt_load::remote::Feed>, zero_ns: u64| {
            measured = feeds.iter().map(brunt_load::remote::Feed::measured).collect();
            let feeds = Feeds::new(ids.iter().cloned().zip(feeds), now.clone());
            let run = nats::Run::start(&access, config, agents, offered, feeds)
                .map_err(|error| LoadError::Process(error.to_string()))?;
            let machines = Machines::new(run, zero_ns);
            kept = Some(machines.clone());
            machines.wait_for_start(stop).map(|()| machines)
        };
        let report = coordinate(options, &machines, others, observer);
        let ended = kept.map(Machines::end);
        let report = match (report, &ended) {
            (Ok(report), _) => report,
            // The verdict of the run says more.
            (Err(LoadError::Process(_)), Some(Ok((outcome, _)))) => return Err(Error::Failed(outcome.verdict.line())),
            (Err(error), _) => return Err(super::options::error_of(error)),
        };
        let (outcome, server) = ended.ok_or_else(|| Error::Failed("no run".to_owned()))?.map_err(failed)?;
        Ok((report, Made { run: run_id, server, outcome, measured }))
    }
}

/// How agents have made a load.
pub(super) struct Made {
    run: String,
    /// Version of the NATS server.
    server: String,
    outcome: Outcome,
    /// In the order of the agents.
    measured: Vec<Measured>,
}

/// The time limit of a number of requests that has none.
fn longest(spec: &LoadSpec) -> Result<Option<Span>, Error> {
    let is_limited = spec.duration.is_some() || !spec.stages.is_empty();
    let warmup = spec.warmup.map_or(Duration::ZERO, |warmup| warmup.0);
    let limit = Some(LONGEST.saturating_sub(warmup)).filter(|limit| !limit.is_zero()).unwrap_or(LONGEST);
    Ok(requests::count(spec)?.filter(|_| !is_limited).map(|_| Span(limit)))
}

/// Owner of the run, shown where its agents are busy: user, machine and process.
fn owner() -> String {
    let user = std::env::var("USER").or_else(|_| std::env::var("LOGNAME")).unwrap_or_else(|_| "root".to_owned());
    format!("{user}@{}, pid {}", rustix::system::uname().nodename().to_string_lossy(), std::process::id())
}
