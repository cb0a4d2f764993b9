//! What is metered from outside while a foreign tester runs: the target, the tester's own CPU time, the machine, and the
//! connections that were accepted. `brunt load` does this by itself; the same figures stand in the same places.
//!
//! The target is metered from just before the tester starts until it has ended, so that its CPU time belongs to all the
//! requests that the tester counts, and a line a second goes to `series.jsonl`. The tester itself cannot be looked at once
//! it has ended: it is metered over the middle of its run.

use super::TESTER_OUT;
use crate::{
    schedule::Cell,
    testers::external::{ExternalTester, LoadSpec, ParsedOutput},
};
use brunt_meter::{
    HostMeter, ServerMeter, proc_net,
    process::{Tree, Usage, Window},
    server::all_absent,
};
use brunt_results::{
    RunResult,
    directory::{Directory, SeriesWriter},
    env::Env,
    judge::judge,
    result::Generator,
    series::Second,
};
use std::{
    fs, io,
    time::{Duration, Instant},
};

/// Meters one run of a foreign tester.
pub(super) struct ExternalMeter {
    server: Result<ServerMeter, String>,
    tester: Watched,
    pid: u32,
    host: HostMeter,
    /// Or why no more is written.
    series: io::Result<SeriesWriter>,
    /// Connections ever accepted in this network namespace, at both ends.
    accepted: [Option<u64>; 2],
    since: Instant,
    seen: Instant,
    load: Duration,
}

/// The tester, as it goes.
enum Watched {
    NotYet,
    Open(Tree, Window),
    Done(Usage),
    Never(String),
}

impl ExternalMeter {
    /// Opens the target's window; the tester is to be started right after this.
    pub(super) fn open(target: u32, load: Duration, directory: &Directory) -> Self {
        let series = directory.series();
        let mut server = ServerMeter::attach(target);
        server.iter_mut().for_each(ServerMeter::open);
        let mut host = HostMeter::new();
        host.open();
        let accepted = [accepted(), None];
        let now = Instant::now();
        Self { server, tester: Watched::NotYet, pid: 0, host, series, accepted, since: now, seen: now, load }
    }

    /// The tester runs as this process.
    pub(super) fn started(&mut self, pid: u32) {
        self.pid = pid;
    }

    /// Looks again; to be called a few times a second while the tester runs.
    pub(super) fn tick(&mut self) {
        let passed = self.since.elapsed();
        // Away from both ends, where it is starting, connecting, or counting what it has.
        let margin = Duration::from_millis(150).min(self.load / 10);
        self.tester = match std::mem::replace(&mut self.tester, Watched::NotYet) {
            Watched::NotYet if passed >= margin => match Tree::new(&[self.pid]) {
                Ok(mut tree) => {
                    let window = Window::open(&mut tree);
                    Watched::Open(tree, window)
                }
                Err(why) => Watched::Never(why),
            },
            Watched::Open(mut tree, window) if passed + margin >= self.load => {
                let usage = window.close(&mut tree);
                if usage.alive { Watched::Done(usage) } else { Watched::Never("it ended before its time".to_owned()) }
            }
            other => other,
        };
        if self.seen.elapsed() >= Duration::from_secs(1) {
            self.look();
        }
    }

    /// Takes down the time since the look before; this also remembers threads that end, and frequencies.
    fn look(&mut self) {
        self.seen = Instant::now();
        let mut second = Second { at_s: (self.seen - self.since).as_secs_f64(), ..Second::default() };
        self.server.iter_mut().for_each(|server| server.sample(&mut second));
        self.host.sample(&mut second);
        if let Ok(series) = &mut self.series
            && let Err(e) = series.push_metered(&second)
        {
            self.series = Err(io::Error::new(e.kind(), format!("series.jsonl: {e}")));
        }
    }

    /// How long to wait until the next tick: short where the tester is about to end.
    pub(super) fn pause(&self) -> Duration {
        let near = self.since.elapsed() + Duration::from_millis(300) >= self.load;
        Duration::from_millis(if near { 10 } else { 50 })
    }

    /// The tester has ended.
    pub(super) fn close(&mut self) {
        self.server.iter_mut().for_each(ServerMeter::stop);
        self.host.stop();
        self.accepted[1] = accepted();
        // The rest of a second; of less than this a percentage would be noise.
        if self.seen.elapsed() >= Duration::from_millis(250) {
            self.look();
        }
    }

    /// Reads what the tester has left and writes result and circumstances; the inner error is what is wrong with it.
    pub(super) fn write(
        self,
        foreign: &ExternalTester,
        cell: &Cell,
        seed: u64,
        port: u16,
        directory: &Directory,
        command: &[String],
    ) -> io::Result<Result<(), String>> {
        let read = |name: &str| {
            let bytes = fs::read(directory.path().join(name)).unwrap_or_default();
            String::from_utf8_lossy(&bytes).into_owned()
        };
        let told = (foreign.read)(&read(TESTER_OUT), &foreign.file.map_or(String::new(), read));
        let (ask, told) = match (LoadSpec::new(cell, port, directory.path()), told) {
            (Ok(ask), Ok(told)) => (ask, told),
            (Err(why), _) | (_, Err(why)) => return Ok(Err(format!("{}: {why}", foreign.capabilities.name))),
        };
        if let Err(e) = &self.series {
            return Err(io::Error::new(e.kind(), e.to_string()));
        }
        let (result, mut env) = self.result(foreign, &ask, seed, told);
        env.command = command.to_vec();
        directory.write_env(&env)?;
        directory.write_result(&result)?;
        Ok(Ok(()))
    }

    /// The result, complete, and the circumstances.
    fn result(self, foreign: &ExternalTester, ask: &LoadSpec, seed: u64, told: ParsedOutput) -> (RunResult, Env) {
        let mut env = brunt_meter::environment::collect();
        let answered = told.completed;
        let opened = told.opened;
        let (mut result, absent) = foreign.result(ask, told);
        env.absent.extend(absent);
        match self.server {
            Ok(mut meter) => {
                let (server, absent) = meter.close(answered);
                result.server = server;
                env.absent.extend(absent);
            }
            Err(why) => env.absent.extend(all_absent(&why)),
        }
        match self.tester {
            Watched::Done(usage) => result.generator = generator(&usage, ask),
            other => {
                let why = match other {
                    Watched::Never(why) => why,
                    _ => "it ended before its time".to_owned(),
                };
                env.absent.extend(brunt_meter::generator::all_absent(&why));
                for figure in ["cpu_percent", "thread_cpu_percent"] {
                    env.absent.insert(format!("generator.{figure}"), why.clone());
                }
            }
        }
        if result.generator.rss_bytes.is_some() && result.generator.voluntary_switches.is_none() {
            for figure in ["voluntary_switches", "involuntary_switches"] {
                let why = "threads of the tester ended, with which the kernel forgets their switches";
                env.absent.insert(format!("generator.{figure}"), why.to_owned());
            }
        }
        let why = format!("how fast {} is by itself is not measured", foreign.capabilities.name);
        env.absent.insert("generator.ceiling_rate".to_owned(), why);
        let (host, absent) = self.host.close();
        result.host = host;
        env.absent.extend(absent);
        env.steal_percent = result.host.steal_percent;
        let [first, last] = self.accepted;
        match first.zip(last) {
            _ if opened.is_some() => {}
            Some((first, last)) => result.connections.opened = last.saturating_sub(first),
            None => {
                let why = format!("{} does not count them, and neither does /proc/net/snmp", foreign.capabilities.name);
                env.absent.insert("connections.opened".to_owned(), why);
            }
        }
        result.load.seed = seed;
        result.verdict = judge(&result, env.steal_percent);
        (result, env)
    }
}

/// What the tester used. Its fullest thread stands for all: which of its threads make load, only it knows. Go's
/// goroutines wander over threads, so a core that is full without any one thread being so counts as well.
fn generator(usage: &Usage, ask: &LoadSpec) -> Generator {
    let all = usage.cpu.user_percent() + usage.cpu.system_percent();
    let a_core = all / ask.cores.len().max(1) as f64;
    Generator {
        cpu_percent: Some(all),
        thread_cpu_percent: vec![usage.busiest_thread_percent.map_or(a_core, |thread| thread.max(a_core))],
        run_queue_wait_percent: usage.run_queue_wait_percent,
        voluntary_switches: usage.switches.map(|switches| switches.voluntary),
        involuntary_switches: usage.switches.map(|switches| switches.involuntary),
        minor_faults: Some(usage.faults.minor),
        major_faults: Some(usage.faults.major),
        rss_bytes: Some(usage.rss_bytes),
        cores: ask.cores.clone(),
        ..Generator::default()
    }
}

fn accepted() -> Option<u64> {
    proc_net::snmp("Tcp", "PassiveOpens")
}
