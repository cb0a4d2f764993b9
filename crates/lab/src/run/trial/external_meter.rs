//! Meters a run of an external tester: target, tester, host, accepted connections. `brunt load` meters itself; both write
//! the same figures.
//!
//! - The target is metered from just before the tester starts until it has ended, so its CPU time covers all requests that
//!   the tester counts; a line a second goes to `series.jsonl`.
//! - The tester is metered over the middle of its run.

use super::TESTER_OUT;
use crate::clock;
use crate::plan::{Service, settings::Settings};
use crate::run::tester_window::{TesterWindow, busiest_percent};
use crate::schedule::Cell;
use crate::testers::external::{ExternalTester, LoadSpec, ParsedOutput};
use brunt_meter::process::Usage;
use brunt_meter::server::all_absent;
use brunt_meter::{HostMeter, ServerMeter, proc_net};
use brunt_results::directory::{Directory, SeriesWriter};
use brunt_results::env::Env;
use brunt_results::judge::judge;
use brunt_results::result::Generator;
use brunt_results::series::Second;
use brunt_results::{RunResult, figure};
use std::io;
use std::time::{Duration, Instant};

pub(super) struct ExternalMeter {
    server: Result<ServerMeter, String>,
    tester: TesterWindow,
    host: HostMeter,
    /// The error after which nothing more is written.
    series: io::Result<SeriesWriter>,
    /// Connections accepted in this network namespace since its start: before and after the run.
    accepted: [Option<u64>; 2],
    started: Instant,
    last_sample: Instant,
    load: Duration,
    /// Whether a number of requests may end the load sooner.
    may_end_early: bool,
}

impl ExternalMeter {
    /// Opens the target's window; start the tester right after.
    pub(super) fn open(target: u32, service: &Service, settings: &Settings, directory: &Directory) -> Self {
        let series = directory.series();
        let scope = service.scope();
        let mut server = scope.and_then(|scope| ServerMeter::attach_scoped(&[target], &[], scope));
        server.iter_mut().for_each(|server| _ = server.open());
        let mut host = HostMeter::attach();
        host.open();
        let accepted = [proc_net::accepted(), None];
        let now = clock::now();
        Self {
            server,
            tester: TesterWindow::default(),
            host,
            series,
            accepted,
            started: now,
            last_sample: now,
            load: settings.duration.0,
            may_end_early: settings.requests.is_some(),
        }
    }

    /// Samples; called a few times a second while the tester of this process id runs.
    pub(super) fn tick(&mut self, tester: u32) {
        let passed = clock::since(self.started);
        self.tester.tick(tester, passed, self.load, self.may_end_early);
        if clock::since(self.last_sample) >= Duration::from_secs(1) {
            self.sample();
        }
    }

    /// Writes the second since the last sample; this also accounts for threads that end, and for frequencies.
    fn sample(&mut self) {
        self.last_sample = clock::now();
        let mut second = Second { at_s: (self.last_sample - self.started).as_secs_f64(), ..Second::default() };
        self.server.iter_mut().for_each(|server| server.sample(&mut second));
        self.host.sample(&mut second);
        if let Ok(series) = &mut self.series
            && let Err(e) = series.push_metered(&second)
        {
            self.series = Err(io::Error::new(e.kind(), format!("series.jsonl: {e}")));
        }
    }

    pub(super) fn close(&mut self) {
        self.server.iter_mut().for_each(ServerMeter::stop);
        self.host.stop();
        self.accepted[1] = proc_net::accepted();
        // The last part of a second, unless too short for a percentage.
        if clock::since(self.last_sample) >= Duration::from_millis(250) {
            self.sample();
        }
    }

    /// Reads the tester's output, writes `result.json` and `env.json`; the inner error is about the output.
    pub(super) fn write(
        self,
        external: &ExternalTester,
        cell: &Cell,
        seed: u64,
        port: u16,
        directory: &Directory,
        command: &[String],
    ) -> io::Result<Result<(), String>> {
        let parsed = external.parsed(directory.path(), TESTER_OUT);
        let (spec, parsed) = match (LoadSpec::new(cell, port, directory.path()), parsed) {
            (Ok(spec), Ok(parsed)) => (spec, parsed),
            (Err(why), _) | (_, Err(why)) => return Ok(Err(format!("{}: {why}", external.capabilities.name))),
        };
        if let Err(e) = &self.series {
            return Err(io::Error::new(e.kind(), e.to_string()));
        }
        let (result, mut env) = self.result(external, &spec, seed, parsed);
        env.command = command.to_vec();
        directory.write_env(&env)?;
        directory.write_result(&result)?;
        Ok(Ok(()))
    }

    fn result(self, external: &ExternalTester, spec: &LoadSpec, seed: u64, parsed: ParsedOutput) -> (RunResult, Env) {
        let mut env = brunt_meter::environment::collect();
        let answered = parsed.completed;
        let opened = parsed.opened;
        let (mut result, absent) = external.result(spec, parsed);
        let window = Duration::try_from_secs_f64(result.load.measured_s).unwrap_or(Duration::MAX);
        env.absent.extend(absent);
        match self.server {
            Ok(mut meter) => {
                let (server, absent) = meter.close(answered, window);
                result.server = server;
                env.absent.extend(absent);
            }
            Err(why) => env.absent.extend(all_absent(&why)),
        }
        match self.tester.usage() {
            Ok(usage) => result.generator = generator(&usage, spec),
            Err(why) => {
                env.absent.extend(brunt_meter::generator::all_absent(&why));
                env.absent.extend(of_generator(["cpu_percent", "thread_cpu_percent"], &why));
            }
        }
        if result.generator.rss_bytes.is_some() && result.generator.voluntary_switches.is_none() {
            let why = "threads of the tester ended, and the kernel drops their counts";
            env.absent.extend(of_generator(["voluntary_switches", "involuntary_switches"], why));
        }
        let why = format!("the ceiling of {} is not measured", external.capabilities.name);
        env.absent.extend(of_generator(["ceiling_rate"], &why));
        let (host, absent) = self.host.close(window);
        result.host = host;
        env.absent.extend(absent);
        env.steal_percent = result.host.steal_percent;
        let [first, last] = self.accepted;
        match first.zip(last) {
            _ if opened.is_some() => {}
            Some((first, last)) => result.connections.opened = last.saturating_sub(first),
            None => {
                let why = format!("neither {} nor /proc/net/snmp counts them", external.capabilities.name);
                env.absent.insert("connections.opened".to_owned(), why);
            }
        }
        result.load.seed = seed;
        env.absent.extend(figure::absent(&result));
        result.verdict = judge(&result, env.steal_percent);
        (result, env)
    }
}

/// The tester's own cost. Its busiest thread stands for all, because which threads make load is unknown.
fn generator(usage: &Usage, spec: &LoadSpec) -> Generator {
    let all = usage.cpu.user_percent() + usage.cpu.system_percent();
    Generator {
        cpu_percent: Some(all),
        thread_cpu_percent: vec![busiest_percent(usage, &spec.cores)],
        run_queue_wait_percent: usage.run_queue_wait_percent,
        voluntary_switches: usage.switches.map(|switches| switches.voluntary),
        involuntary_switches: usage.switches.map(|switches| switches.involuntary),
        minor_faults: Some(usage.faults.minor),
        major_faults: Some(usage.faults.major),
        rss_bytes: Some(usage.rss_bytes),
        cores: spec.cores.clone(),
        ..Generator::default()
    }
}

/// Figures of the generator that are absent for this reason.
fn of_generator<const N: usize>(figures: [&str; N], why: &str) -> [(String, String); N] {
    figures.map(|figure| (format!("generator.{figure}"), why.to_owned()))
}
