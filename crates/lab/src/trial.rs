//! One trial: start the target, wait until it accepts, run the tester, stop the target. Whatever happens, no process of
//! it survives, and the directory says how it went: `result.json`, or `failed.json` with the reason.

mod gauge;
mod launch;

use crate::{
    cells::Cell,
    ledger::Ledger,
    pace::{self, Pace},
    plan::Target,
    port::{self, Ports},
    process::{Group, Launch, PATIENCE, Stay, ending, last_lines},
    tester::{BRUNT, Tester},
};
use gauge::Gauge;
use outcome::{RunResult, directory::Directory};
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    fs::{self, File},
    io,
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
pub enum End {
    /// With a result.
    Done(Box<RunResult>),
    /// Without one; the reason is in the directory too.
    Failed(Failure),
    /// On request; nothing of it counts.
    Interrupted,
}

/// `failed.json`: why a trial has no result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// In one line.
    pub why: String,
    /// The last lines that the culprit wrote.
    pub log: Vec<String>,
}

impl Failure {
    /// Reason and log in one line.
    pub fn line(&self) -> String {
        match self.log.as_slice() {
            [] => self.why.clone(),
            log => format!("{}: {}", self.why, log.join(" | ")),
        }
    }
}

/// `trial.json`: what was started, so that anyone can do it again by hand.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Name of the cell.
    pub cell: String,
    /// Counted from 1.
    pub repeat: u32,
    /// Place in the order of the experiment, counted from 1.
    pub number: usize,
    /// Seconds since 1970-01-01 UTC.
    pub started_unix_s: u64,
    /// The target's command line.
    pub target: Vec<String>,
    /// The tester's command line.
    pub tester: Vec<String>,
    /// How fast the machine was before and after.
    #[serde(default)]
    pub pace: Option<Pace>,
}

/// What all trials of an experiment have in common.
pub struct Bench<'a> {
    /// Makes the load where no foreign tester does.
    pub tester: &'a Tester,
    /// Words added to the command lines of testers, by name.
    pub added: &'a BTreeMap<String, Vec<String>>,
    /// The binary whose `serve` is a target.
    pub brunt: &'a Path,
    /// The plan's folder.
    pub base: &'a Path,
    /// Tells the machine's pace.
    pub pace: pace::Timer,
    /// Remembers process groups.
    pub ledger: &'a Arc<Ledger>,
    /// Set when the run is to end.
    pub stop: &'a AtomicBool,
}

/// One trial to be run.
pub struct Job<'a> {
    /// Under which load, on which cores.
    pub cell: &'a Cell,
    /// The server.
    pub target: &'a Target,
    /// Counted from 1.
    pub repeat: u32,
    /// Place in the order, counted from 1.
    pub number: usize,
    /// Seed of the load.
    pub seed: u64,
    /// Where its files go.
    pub dir: PathBuf,
}

/// Files of a trial beside those of the result.
const TARGET_LOG: &str = "target.log";
const TESTER_LOG: &str = "tester.log";
const TESTER_OUT: &str = "tester.out";

impl Bench<'_> {
    /// Runs one trial. `tick` is told what it does, a few times a second. An error is one of our own files or of the
    /// machine: the next trial would meet it too.
    pub fn run(&self, job: &Job, ports: &mut Ports, tick: &mut dyn FnMut(&'static str)) -> io::Result<End> {
        // What a run that was killed has left of this trial does not mix with what comes.
        match fs::remove_dir_all(&job.dir) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(named(&job.dir, e)),
            _ => {}
        }
        let directory = Directory::create(&job.dir)?;
        let _stay = Stay::on(&job.cell.placement.client);
        let end = match self.attempt(job, &directory, ports, tick)? {
            Ok(end) => end,
            Err(failure) => {
                // Nothing that a failed trial wrote may pass for a result later.
                let _ = fs::remove_file(job.dir.join("result.json"));
                directory.write_json("failed.json", &failure)?;
                End::Failed(failure)
            }
        };
        if matches!(end, End::Interrupted) {
            fs::remove_dir_all(&job.dir).map_err(|e| named(&job.dir, e))?;
        }
        Ok(end)
    }

    fn attempt(
        &self,
        job: &Job,
        directory: &Directory,
        ports: &mut Ports,
        tick: &mut dyn FnMut(&'static str),
    ) -> io::Result<Result<End, Failure>> {
        let port = ports.free()?;
        let launch = match self.target(job, port)? {
            Ok(launch) => launch,
            Err(why) => return Ok(Err(Failure { why, log: Vec::new() })),
        };
        let mut record = Record {
            cell: job.cell.id.clone(),
            repeat: job.repeat,
            number: job.number,
            started_unix_s: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |t| t.as_secs()),
            target: launch.words(),
            tester: Vec::new(),
            pace: None,
        };
        tick("looking at the machine");
        let before = (self.pace)(job.cell);
        let fail = |why: String, log: &str| Ok(Err(Failure { why, log: last_lines(&job.dir.join(log), 3) }));

        tick("starting the target");
        let mut target = match Group::start(launch, self.ledger) {
            Ok(target) => target,
            Err(e) => return fail(e.to_string(), TARGET_LOG),
        };
        match self.accepts(&mut target, port, job.target.ready_timeout.0, tick) {
            Ready::Yes => {}
            Ready::Interrupted => return Ok(Ok(End::Interrupted)),
            Ready::Died(status) => {
                return fail(format!("the target {} before it accepted a connection", ending(status)), TARGET_LOG);
            }
            Ready::Silent => {
                let why = format!("the target did not listen on 127.0.0.1:{port} within {}", job.target.ready_timeout);
                return fail(why, TARGET_LOG);
            }
        }

        let foreign = job.cell.settings.foreign();
        let name = job.cell.settings.tester.as_deref().unwrap_or(BRUNT);
        let added = self.added.get(name).map_or(&[][..], Vec::as_slice);
        let (program, args) = match self.tester.command(job.cell, added, port, target.pid(), job.seed, directory.path())
        {
            Ok(command) => command,
            Err(why) => return Ok(Err(Failure { why, log: Vec::new() })),
        };
        let launch = Launch {
            program,
            args,
            dir: None,
            env: BTreeMap::new(),
            cores: Some(job.cell.placement.client.clone()),
            stdout: File::create(job.dir.join(TESTER_OUT))?,
            stderr: File::create(job.dir.join(TESTER_LOG))?,
        };
        record.tester = launch.words();
        directory.write_json("trial.json", &record)?;
        let mut gauge = foreign.map(|_| Gauge::open(target.pid(), job.cell.settings.duration.0));
        let mut tester = match Group::start(launch, self.ledger) {
            Ok(tester) => tester,
            Err(e) => return fail(e.to_string(), TESTER_LOG),
        };
        gauge.iter_mut().for_each(|gauge| gauge.started(tester.pid()));
        let limit = self.tester.limit(job.cell);
        let since = Instant::now();
        tick("load");
        let status = loop {
            if let Some(status) = tester.ended() {
                break status;
            }
            if self.stop.load(Ordering::Relaxed) {
                return Ok(Ok(End::Interrupted));
            }
            if let Some(status) = target.ended() {
                tester.stop(Duration::ZERO);
                return fail(format!("the target {} under load", ending(status)), TARGET_LOG);
            }
            if since.elapsed() > limit {
                tester.stop(PATIENCE);
                return fail(format!("the tester did not end within {} s", limit.as_secs()), TESTER_LOG);
            }
            gauge.iter_mut().for_each(Gauge::tick);
            // Rarely enough not to disturb a generator that shares this core.
            thread::sleep(gauge.as_ref().map_or(Duration::from_millis(50), Gauge::pause));
            tick("load");
        };
        gauge.iter_mut().for_each(Gauge::close);
        tester.stop(PATIENCE);
        // Ctrl-C may reach a tester by itself; what it wrote is then not a whole trial.
        if self.stop.load(Ordering::Relaxed) {
            return Ok(Ok(End::Interrupted));
        }
        if let Some(status) = target.ended() {
            return fail(format!("the target {} under load", ending(status)), TARGET_LOG);
        }
        if !status.success() {
            return fail(format!("the tester {}", ending(status)), TESTER_LOG);
        }
        tick("stopping the target");
        target.stop(PATIENCE);
        if !freed(port) {
            let why = format!(
                "port {port} is still taken although the target's process group is gone: it must stay in the foreground"
            );
            return fail(why, TARGET_LOG);
        }
        if let (Some(foreign), Some(gauge)) = (foreign, gauge)
            && let Err(why) = gauge.write(foreign, job, port, directory, &record.tester)?
        {
            return fail(why, TESTER_OUT);
        }
        if let (Some(before_us), Some(after_us)) = (before, (self.pace)(job.cell)) {
            record.pace = Some(Pace { before_us, after_us });
            directory.write_json("trial.json", &record)?;
        }
        match directory.read_result() {
            Ok(result) if result.interrupted => fail("the tester was interrupted".to_owned(), TESTER_LOG),
            Ok(result) => Ok(Ok(End::Done(Box::new(result)))),
            Err(e) => fail(format!("the tester left no result: {e}"), TESTER_LOG),
        }
    }

    fn accepts(&self, target: &mut Group, port: u16, within: Duration, tick: &mut dyn FnMut(&'static str)) -> Ready {
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

/// Waits until nothing listens on the port: a server's sockets may outlive it for a moment while its rings are undone.
fn freed(port: u16) -> bool {
    let since = Instant::now();
    while !port::is_free(port) {
        if since.elapsed() > Duration::from_secs(5) {
            return false;
        }
        thread::sleep(Duration::from_millis(5));
    }
    true
}

fn named(path: &Path, error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}
