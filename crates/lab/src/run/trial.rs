//! One start of a target: run `before`, start it, wait until it accepts, run the tester, once for each phase, stop it,
//! run `after`. Whatever happens, no process of it survives, and the directory of each trial says how it went:
//! `result.json`, or `failed.json` with the reason.

mod external_meter;
mod hooks;
mod launch;
mod load;

use crate::{
    fs_error::with_path,
    plan::Target,
    run_directory::{Failure, TrialRecord, machine_speed::SpeedSample},
    schedule::{Cell, Machine},
    system::{
        cgroup::MemoryCgroup,
        ports::{self, Ports},
        process_group::{AffinityGuard, ProcessGroup, STOP_TIMEOUT, describe_exit, last_lines},
        process_registry::ProcessRegistry,
    },
    testers::Tester,
};
use brunt_results::{RunResult, directory::Directory};
use hooks::Hook;
use launch::TrialContext;
use std::{
    collections::BTreeMap,
    fs, io,
    net::{SocketAddr, TcpStream},
    path::{Path, PathBuf},
    process::ExitStatus,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

/// How a trial ended.
#[derive(Debug)]
pub enum TrialStatus {
    /// With a result.
    Done(Box<RunResult>),
    /// Without one; the reason is in the directory too.
    Failed(Failure),
    /// On request; nothing of it counts.
    Interrupted,
}

/// How the pace is told; tests have one of their own.
pub type SpeedProbe = fn(&Cell) -> Option<f64>;

/// Times the work once; `None` where that cannot be done (no loopback).
pub fn probe_speed(cell: &Cell) -> Option<f64> {
    let placement = &cell.placement;
    let mut cores: Vec<usize> = placement.server.0.iter().chain(&placement.client.0).copied().collect();
    cores.sort_unstable();
    cores.dedup();
    brunt_meter::machine_speed::measure(&cores).ok()
}

/// What all trials of an experiment have in common.
pub struct TrialRunner<'a> {
    /// Makes the load where no foreign tester does.
    pub tester: &'a Tester,
    /// Words added to the command lines of testers, by name.
    pub added: &'a BTreeMap<String, Vec<String>>,
    /// The binary whose `serve` is a target.
    pub brunt: &'a Path,
    /// The plan's folder.
    pub base: &'a Path,
    /// Tells the machine's pace.
    pub speed_probe: SpeedProbe,
    /// Remembers process groups.
    pub ledger: &'a Arc<ProcessRegistry>,
    /// Set when the run is to end.
    pub stop: &'a AtomicBool,
}

/// One start of a target, for one trial or for the phases that share it.
pub struct TrialGroup<'a> {
    /// At least one, in order.
    pub steps: Vec<TrialSpec<'a>>,
    /// The server.
    pub target: &'a Target,
    /// Counted from 1.
    pub repeat: u32,
    /// Seed of the load.
    pub seed: u64,
}

/// One trial to be run.
pub struct TrialSpec<'a> {
    /// Under which load, on which cores.
    pub cell: &'a Cell,
    /// Place in the order, counted from 1.
    pub number: usize,
    /// Where its files go.
    pub dir: PathBuf,
}

impl TrialGroup<'_> {
    /// The cell that the target is started for.
    fn cell(&self) -> &Cell {
        self.steps[0].cell
    }

    /// Holds the files that all steps have in common.
    fn dir(&self) -> &Path {
        &self.steps[0].dir
    }
}

/// Why a start came to its end before its time.
enum Stop {
    /// On request.
    Interrupted,
    /// The trials from this one on have no result.
    Failed(usize, Failure),
}

/// Files of a trial beside those of the result.
const TARGET_LOG: &str = "target.log";
const TESTER_LOG: &str = "tester.log";
const TESTER_OUT: &str = "tester.out";

impl TrialRunner<'_> {
    /// Runs the trials of one start and says how each of them ended. `tick` is told which of them does what, a few times
    /// a second. An error is one of our own files or of the machine: the next trial would meet it too.
    pub fn run(
        &self,
        job: &TrialGroup,
        ports: &mut Ports,
        tick: &mut dyn FnMut(usize, &'static str),
    ) -> io::Result<Vec<TrialStatus>> {
        for step in &job.steps {
            // What a run that was killed has left of this trial does not mix with what comes.
            match fs::remove_dir_all(&step.dir) {
                Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(with_path(&step.dir)(e)),
                _ => {}
            }
            Directory::create(&step.dir)?;
        }
        let all = Machine::here()?;
        let _stay = AffinityGuard::on(&job.cell().placement.client);
        let site = TrialContext::new(job, ports.free()?, self, all)?;

        let (mut done, mut left) = (Vec::new(), None);
        let course = self.course(job, &site, &mut done, &mut left, tick);
        // The target is stopped by now, whatever came of it.
        let after = self.hook(job, &site, Hook::After, &mut |what| tick(job.steps.len() - 1, what));
        drop(left);
        let stop = match (course?.err(), after?.err()) {
            (Some(Stop::Failed(from, mut failure)), Some(Stop::Failed(_, other))) => {
                failure.log.push(other.line());
                Some(Stop::Failed(from, failure))
            }
            // What it should have undone is still there, and must not go unsaid.
            (Some(Stop::Interrupted), Some(other)) => Some(other),
            (None, Some(Stop::Failed(_, failure))) => Some(Stop::Failed(job.steps.len() - 1, failure)),
            (stop, after) => stop.or(after),
        };
        self.ends(job, done, stop)
    }

    /// How each trial ended, as its directory then says too.
    fn ends(&self, job: &TrialGroup, mut ends: Vec<TrialStatus>, stop: Option<Stop>) -> io::Result<Vec<TrialStatus>> {
        match stop {
            None => {}
            Some(Stop::Interrupted) => {
                for step in &job.steps {
                    fs::remove_dir_all(&step.dir).map_err(with_path(&step.dir))?;
                }
                return Ok(job.steps.iter().map(|_| TrialStatus::Interrupted).collect());
            }
            Some(Stop::Failed(from, failure)) => {
                ends.truncate(from);
                let phase = job.steps[from].cell.phase().unwrap_or_default();
                for (index, step) in job.steps.iter().enumerate().skip(from) {
                    let failure = match index == from {
                        true => failure.clone(),
                        false => {
                            Failure { why: format!("phase '{phase}' failed: {}", failure.line()), log: Vec::new() }
                        }
                    };
                    // Nothing that a failed trial wrote may pass for a result later.
                    let _ = fs::remove_file(step.dir.join("result.json"));
                    Directory::open(&step.dir).write_json("failed.json", &failure)?;
                    ends.push(TrialStatus::Failed(failure));
                }
            }
        }
        Ok(ends)
    }

    /// All from `before` until the target is stopped. Results go to `done`, what `before` left running to `left`.
    fn course(
        &self,
        job: &TrialGroup,
        site: &TrialContext,
        done: &mut Vec<TrialStatus>,
        left: &mut Option<ProcessGroup>,
        tick: &mut dyn FnMut(usize, &'static str),
    ) -> io::Result<Result<(), Stop>> {
        let fail =
            |why: String| Ok(Err(Stop::Failed(0, Failure { why, log: last_lines(&job.dir().join(TARGET_LOG), 3) })));
        let cage = job.target.limits.memory.map(MemoryCgroup::new).transpose()?.flatten();
        let oom_kill = || cage.as_ref().and_then(MemoryCgroup::oom_kill);
        let launch = match self.target(job, site, cage.as_ref())? {
            Ok(launch) => launch,
            Err(why) => return fail(why),
        };
        let words = launch.words();
        match self.hook(job, site, Hook::Before, &mut |what| tick(0, what))? {
            Ok(group) => *left = group,
            Err(stop) => return Ok(Err(stop)),
        }
        tick(0, "looking at the machine");
        let before = (self.speed_probe)(job.cell());

        tick(0, "starting the target");
        let mut target = match ProcessGroup::start(launch, self.ledger) {
            Ok(target) => target,
            Err(e) => return fail(e.to_string()),
        };
        match self.accepts(&mut target, site.port, job.target.ready_timeout.0, &mut |what| tick(0, what)) {
            Ready::Yes => {}
            Ready::Interrupted => return Ok(Err(Stop::Interrupted)),
            Ready::Died(status) => {
                let cause = oom_kill().map_or(String::new(), |cause| format!(": {cause}"));
                return fail(format!("the target {} before it accepted a connection{cause}", describe_exit(status)));
            }
            Ready::Silent => {
                let (port, within) = (site.port, job.target.ready_timeout);
                return fail(format!("the target did not listen on 127.0.0.1:{port} within {within}"));
            }
        }
        let mut records = Vec::new();
        for (index, step) in job.steps.iter().enumerate() {
            let mut record = TrialRecord {
                cell: step.cell.id.clone(),
                repeat: job.repeat,
                number: step.number,
                started_unix_s: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |t| t.as_secs()),
                before: site.words(&job.target.before).unwrap_or_default(),
                target: words.clone(),
                tester: Vec::new(),
                after: site.words(&job.target.after).unwrap_or_default(),
                speed: None,
            };
            let ended = self.load(job, index, &mut record, site.port, &mut target, &mut |what| tick(index, what))?;
            let failed = |at, failure| Ok(Err(Stop::Failed(at, failure)));
            match (ended, oom_kill()) {
                (Ok(result), None) => done.push(TrialStatus::Done(Box::new(result))),
                // Others of its processes may have answered on; that is not the server that was to be measured.
                (Ok(_), Some(cause)) => {
                    let why = format!("a process of the target died: {cause}");
                    return failed(index, Failure { why, log: Vec::new() });
                }
                (Err(Stop::Failed(at, failure)), Some(cause)) => {
                    return failed(at, Failure { why: format!("{}: {cause}", failure.why), ..failure });
                }
                (Err(stop), _) => return Ok(Err(stop)),
            }
            records.push(record);
        }
        tick(job.steps.len() - 1, "stopping the target");
        target.stop(STOP_TIMEOUT);
        let connections = job.steps.iter().map(|step| step.cell.connections()).max().unwrap_or(0);
        if !freed(site.port, connections) {
            return fail(format!(
                "port {} is still taken although the target's process group is gone: it must stay in the foreground",
                site.port
            ));
        }
        if let (Some(before_us), Some(after_us)) = (before, (self.speed_probe)(job.cell())) {
            for (step, mut record) in job.steps.iter().zip(records) {
                record.speed = Some(SpeedSample { before_us, after_us });
                Directory::open(&step.dir).write_json("trial.json", &record)?;
            }
        }
        Ok(Ok(()))
    }

    fn accepts(
        &self,
        target: &mut ProcessGroup,
        port: u16,
        within: Duration,
        tick: &mut dyn FnMut(&'static str),
    ) -> Ready {
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        let since = Instant::now();
        let mut pause = Duration::from_millis(1);
        loop {
            if self.stop.load(Ordering::Relaxed) {
                return Ready::Interrupted;
            }
            if let Some(status) = target.ended() {
                return Ready::Died(status);
            }
            if TcpStream::connect_timeout(&address, Duration::from_millis(250)).is_ok() {
                return Ready::Yes;
            }
            if since.elapsed() >= within {
                return Ready::Silent;
            }
            tick("waiting for the target to listen");
            thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(50));
        }
    }
}

enum Ready {
    Yes,
    Died(ExitStatus),
    Silent,
    Interrupted,
}

/// Waits until nothing listens on the port: a server's sockets may outlive it for a moment while its rings are undone, and
/// a million connections take the kernel a minute.
fn freed(port: u16, connections: u64) -> bool {
    let since = Instant::now();
    let patience = Duration::from_secs(5) + Duration::from_micros(200).saturating_mul(connections.min(1 << 30) as u32);
    while !ports::is_free(port) {
        if since.elapsed() > patience {
            return false;
        }
        thread::sleep(Duration::from_millis(5));
    }
    true
}
