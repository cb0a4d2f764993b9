//! `brunt agent`: makes loads on this machine as the operators of its fleet ask, as far as its owner allows.

use super::access::{FleetFlag, directory, failed, from_stdin};
use super::allowed::Targets as Loaded;
use super::generator::Generator;
use super::services::OwnServices;
use super::settings::AgentSettings;
use super::target::Targets;
use crate::cmd::signals::{self, Repeated, SIGHUP, SIGINT, SIGTERM};
use brunt_fleet::nats::{self, About, Access, Holder, Machine, Settings, clean, is_id};
use brunt_fleet::words::{State, Times, Version};
use brunt_meter::doctor::{self, Facts};
use brunt_results::{Cores, Error, ExitCode};
use std::collections::BTreeMap;
use std::hash::{BuildHasher as _, RandomState};
use std::io::{self, Write as _};
use std::net::{IpAddr, Ipv4Addr, ToSocketAddrs as _, UdpSocket};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// Journals of runs are kept for so long.
const KEPT: Duration = Duration::from_secs(24 * 3600);
/// For how long the machine is watched at the start.
const WATCH: Duration = Duration::from_millis(100);
/// Warnings in the answer to a question for all agents, at most.
const MOST_WARNINGS: usize = 16;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
An agent loads nothing but this machine unless its owner allows more, in the file of --config:

  allow = [\"10.0.0.0/8:80,8000-8099\"]    # networks and ports
  rate = \"50k\"                           # and how much: also connections, duration [default: 1h]
  labels = { role = \"load\" }             # by which --on chooses
  secrets = \"/etc/brunt/secrets\"           # files that --bearer, --basic-auth, --cert and the like name
  targets = \"targets.toml\"                 # a plan whose targets may be started here
  address = \"10.0.0.2\"                     # where they listen [default: that of the way to the fleet]
  meter = false                              # no server of this machine is metered [default: true]
  id = \"web-1\"

Exit status: 0 ended by a signal or --once, 1 no connection to the fleet, 2 wrong usage.")]
pub struct Args {
    #[command(flatten)]
    fleet: FleetFlag,
    /// Name of the agent [default: that of its key]
    #[arg(long, value_name = "NAME", value_parser = id)]
    id: Option<String>,
    /// What the owner of this machine allows, as TOML
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// What may be loaded, beside what --config allows; may be repeated
    #[arg(long, value_name = "NETWORK[:PORTS]")]
    allow: Vec<Loaded>,
    /// A plan whose targets may be started on this machine, beside what --config names
    #[arg(long, value_name = "PLAN")]
    targets: Option<PathBuf>,
    /// End after one load
    #[arg(long)]
    once: bool,
}

fn id(text: &str) -> Result<String, String> {
    match is_id(text) {
        true => Ok(text.to_owned()),
        false => Err("a name has 1 to 64 letters, digits, - and _".to_owned()),
    }
}

impl Args {
    pub fn run(&self) -> Result<ExitCode, Error> {
        let AgentSettings { id, labels, mut allowed, secrets, targets, address, meter } =
            AgentSettings::read(self.config.as_deref())?;
        allowed.targets.extend(self.allow.iter().cloned());
        let (access, id) = self.access(self.id.clone().or(id))?;
        let about = about(id, labels, allowed.words());
        // Several agents of a machine have journals of their own.
        let journals = directory()?.join("journals").join(&about.id);
        let files = directory()?.join("files");
        clean(&journals, KEPT);
        let targets = self.targets.clone().or(targets);
        let of_targets = directory()?.join("targets").join(&about.id);
        let targets =
            targets.map(|file| Targets::read(&file, data_address(&access, address), &of_targets)).transpose()?;
        let settings = Settings { about, journals, files, once: self.once };
        let (ended, end) = tokio::sync::oneshot::channel();
        let all = [SIGINT, SIGTERM, SIGHUP];
        let ended = Arc::new(Mutex::new(Some(ended)));
        let of_stdin = Arc::clone(&ended);
        let send = |ended: &Mutex<Option<tokio::sync::oneshot::Sender<()>>>| {
            let ended = ended.lock().unwrap_or_else(PoisonError::into_inner).take();
            ended.into_iter().for_each(|ended| _ = ended.send(()));
        };
        signals::on_first(&all, Repeated::Kill, move || send(&ended))?;
        if self.fleet.is_stdin() {
            // The process that has started the agent holds it open.
            thread::Builder::new().name("stdin".to_owned()).spawn(move || {
                let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
                send(&of_stdin);
            })?;
        }
        let say = |line: &str| _ = writeln!(io::stderr(), "{line}");
        say(&format!("may load {}", allowed.words()));
        targets.iter().for_each(|targets| say(&format!("may start {}", targets.words())));
        let allowed = Arc::new(allowed);
        let services = OwnServices {
            meter: meter.unwrap_or(true),
            targets: targets.map(Arc::new),
            allowed: Arc::clone(&allowed),
            secrets: secrets.clone(),
        };
        let generator = Generator { allowed, secrets };
        let machine = Machine { loads: &generator, services: Arc::new(services) };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let end = async { _ = end.await };
        runtime.block_on(nats::serve(&access, &settings, machine, end, &say)).map_err(failed)?;
        Ok(ExitCode::Good)
    }
}

impl Args {
    /// The access of the agent that is called so, and its name: that of its key unless it has another.
    fn access(&self, called: Option<String>) -> Result<(Access, String), Error> {
        let access = match self.fleet.is_stdin() {
            true => from_stdin()?,
            false => self.fleet.of_agent(&called.clone().unwrap_or_else(of_machine))?,
        };
        let Some(of_key) = &access.agent else {
            return Err(Error::Usage(
                "the key is that of an operator: brunt fleet key NAME makes one for an agent".into(),
            ));
        };
        let holder: Holder = of_key.parse().map_err(Error::Usage)?;
        let id = match (&holder, called) {
            (_, Some(id)) => id,
            (Holder::Agent(id), None) => id.clone(),
            _ => {
                return Err(Error::Usage(format!(
                    "the key is that of agents {holder}: add --id with one of these names"
                )));
            }
        };
        match holder.is_for(&id) {
            true => Ok((access, id)),
            false => Err(Error::Usage(format!(
                "the key is that of {holder}, and the agent is '{id}': brunt fleet key {id} makes one for it"
            ))),
        }
    }
}

/// The name of the machine, as that of an agent.
fn of_machine() -> String {
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let named = host.replace(|c: char| !c.is_ascii_alphanumeric(), "-");
    Some(named).filter(|named| is_id(named)).unwrap_or_else(|| "agent".to_owned())
}

/// Where others reach what listens on this machine: as said, or by the address from which it reaches the NATS server.
fn data_address(access: &Access, said: Option<IpAddr>) -> IpAddr {
    let way = || {
        let host = access.url.split_once("://").map_or(access.url.as_str(), |(_, host)| host);
        let server = host.to_socket_addrs().ok()?.next()?;
        let any = if server.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
        // Nothing is sent.
        let socket = UdpSocket::bind(any).ok()?;
        socket.connect(server).ok()?;
        Some(socket.local_addr().ok()?.ip())
    };
    said.or_else(way).unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST))
}

/// What is wrong with this machine for a generator.
fn warnings() -> Vec<String> {
    let findings = doctor::examine(&Facts::read(WATCH), None);
    let wrong =
        findings.into_iter().filter(|finding| matches!(finding.state, doctor::State::Warn | doctor::State::Bad));
    wrong
        .map(|finding| format!("{}: {}; {}", finding.subject, finding.evidence, finding.consequence))
        .take(MOST_WARNINGS)
        .collect()
}

/// What this agent is, without its state.
fn about(id: String, labels: BTreeMap<String, String>, allows: String) -> About {
    let env = brunt_meter::environment::collect();
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let cores = env.cpus_allowed.and_then(|list| list.parse::<Cores>().ok()).map_or(1, |cores| cores.count() as u64);
    About {
        version: Version,
        id,
        incarnation: RandomState::new().hash_one(std::process::id()),
        host,
        brunt: env!("CARGO_PKG_VERSION").to_owned(),
        program: env.binary_hash,
        kernel: env.kernel.unwrap_or_default(),
        cores,
        labels,
        allows,
        state: State::Idle,
        busy: None,
        warnings: warnings(),
        times: Times { received_ns: 0, answered_ns: 0 },
    }
}
