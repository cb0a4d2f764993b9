//! One step: a service, its load, a controller with jobs or none, and a second load on top of the first.

use crate::child::Process;
use crate::figures::{self, Controller, Figures};
use crate::watch::{self, Look, Watch, now};
use brunt_colocate::audit::Record;
use brunt_colocate::controller::{AUDIT, Status};
use brunt_colocate::journal::{Contents, all};
use brunt_colocate::objective::Objective;
use brunt_meter::affinity;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};
use std::{fs, process};

pub const OBJECTIVE: Objective = Objective { quantile: 0.99, limit_ms: 6.0 };
const SLO: &str = "p99<6ms";
const PEAK: &str = "10k";
/// Rates of the load before the step, and of the one that comes on top of it.
const RATES: [&str; 2] = ["2k", "6k"];
/// The loads' own windows, which are added up to those of the controller.
const FINE: &str = "10ms";
/// For so long a process may take to begin before it is said that it is waited for.
const BEGIN: Duration = Duration::from_secs(10);
/// From the ceiling to the step, and without a controller from the begin of the load.
const SETTLED: Duration = Duration::from_secs(1);
const LOOK: Duration = Duration::from_millis(20);
/// Between two looks for the ceiling, at what the controller says once a second.
const STATUS: Duration = Duration::from_millis(500);
/// Below the ceiling by less than a step of growth.
const AT_CEILING: f64 = 0.97;

#[derive(Debug, Clone)]
pub struct Settings {
    pub brunt: PathBuf,
    /// Longest time for which the ceiling is waited for.
    pub ready: Duration,
    /// Length of the higher load.
    pub hold: Duration,
    /// Length of the windows that the controller reads.
    pub every: Duration,
}

/// Where the step is made; dropped, everything in it ends.
pub struct Scene<'a> {
    settings: &'a Settings,
    home: &'a Path,
    /// Of the load, of the controller's watchers, and of the service with the jobs.
    cores: [usize; 2],
    stop: &'a Arc<AtomicBool>,
}

impl<'a> Scene<'a> {
    pub fn new(settings: &'a Settings, home: &'a Path, stop: &'a Arc<AtomicBool>) -> Result<Self, String> {
        let allowed = affinity::allowed().map_err(|e| format!("the cores of this process: {e}"))?;
        match allowed[..] {
            [first, .., last] => Ok(Self { settings, home, cores: [first, last], stop }),
            _ => Err("this process has one core: the load and the service need one each".to_owned()),
        }
    }

    /// The figures of a step under this policy, or without jobs.
    pub fn step(&self, policy: Option<&str>) -> Result<Figures, String> {
        let address = free_address()?;
        let [_, last] = self.cores;
        let mut serve = self.brunt(&["serve", "echo", "--model", "epoll", "--work", "spin=40us", "--quiet"]);
        serve.args(["--listen", &address, "--cores", &last.to_string()]);
        let mut processes = vec![Process::start("serve", self.home, &mut serve)?];
        self.until("the service listens", &mut processes, || TcpStream::connect(&address).is_ok())?;
        // Threads and processes from here on start away from the service's core, but for the controller, which needs it for
        // its jobs.
        let files = ["low", "high"].map(|name| self.home.join(format!("{name}.jsonl")));
        for file in &files {
            let _ = fs::remove_file(file);
        }
        let given = self.home.join("counts.jsonl");
        let counts = watch::add(self.cores[0], files.clone(), &given, self.settings.every.as_secs_f64())?;
        processes.push(self.load("low", &address, RATES[0], &files[0])?);
        let lines = || fs::metadata(&given).is_ok_and(|file| file.len() > 0);
        self.until("the load is counted", &mut processes, lines)?;
        let controller = match policy {
            Some(policy) => Some(self.colocate(policy, &address, &given, &mut processes)?),
            None => None,
        };
        self.pass(SETTLED, &mut processes)?;
        processes.push(self.load("high", &address, RATES[1], &files[1])?);
        let begun = || fs::metadata(&files[1]).is_ok_and(|file| file.len() > 0);
        self.until("the higher load is counted", &mut processes, begun)?;
        self.pass(self.settings.hold, &mut processes)?;
        let until = now();
        // The controller, if there is one, ends before the load and the service do: it would take that for their failure.
        let looks = controller.map(|(process, looks)| {
            drop(process);
            looks.end()
        });
        let counted = counts.end()??;
        // The loads before the service: they would wait for its replies.
        while processes.pop().is_some() {}
        let controller = match looks {
            Some(looks) => Some(Controller { records: self.records()?, looks: looks?, given: counted.given }),
            None => None,
        };
        figures::figures(OBJECTIVE, &counted.loads, until, controller.as_ref())
    }

    fn brunt(&self, args: &[&str]) -> Command {
        let mut command = Command::new(&self.settings.brunt);
        command.args(args).env("BRUNT_STATE_DIR", self.home.join("state"));
        command
    }

    fn load(&self, name: &str, address: &str, rate: &str, counts: &Path) -> Result<Process, String> {
        let mut load = self.brunt(&["load", &format!("tcp://{address}"), "-R", rate, "--arrival", "poisson"]);
        load.args(["-c", "64", "-d", "10m", "--warmup", "0s", "--no-meter", "--quiet", "--allow-untrusted"]);
        load.args(["--cores", &self.cores[0].to_string(), "--slo", SLO, "--counts-every", FINE]);
        load.arg("--counts").arg(counts);
        // It would connect, and start, on the service's core otherwise.
        pinned(&self.cores[..1], || Process::start(&format!("load-{name}"), self.home, &mut load))
    }

    /// Starts a controller, and waits until its jobs have all they can get.
    fn colocate(
        &self,
        policy: &str,
        address: &str,
        counts: &Path,
        processes: &mut [Process],
    ) -> Result<(Process, Watch<Vec<Look>>), String> {
        let plan = self.home.join("plan.toml");
        fs::write(&plan, self.plan(policy, address, counts)).map_err(|e| format!("{}: {e}", plan.display()))?;
        let mut run = self.brunt(&["colocate", "run"]);
        let mut run = Process::start("colocate", self.home, run.arg(plan).arg("--out").arg(self.home.join("out")))?;
        let pid = run.pid();
        let mut status = None;
        self.until("the jobs run", std::slice::from_mut(&mut run), || {
            status = self.status(pid).filter(|status| !status.jobs.is_empty());
            status.is_some()
        })?;
        let journals = all(&self.home.join("state/colocate"));
        let own = journals.iter().find(|path| path.to_string_lossy().contains(&format!("/{pid}-")));
        let journal = own.ok_or("the controller has no journal")?;
        let groups = Contents::read(journal).map_err(|e| format!("{}: {e}", journal.display()))?.groups();
        let looks = watch::looks(self.cores[0], groups);
        let begin = Instant::now();
        // What it has when the time is over is said in its line.
        while begin.elapsed() < self.settings.ready && !self.status(pid).is_some_and(|status| is_at_ceiling(&status)) {
            self.pass(STATUS, processes)?;
            run.check()?;
        }
        Ok((run, looks))
    }

    fn plan(&self, policy: &str, address: &str, counts: &Path) -> String {
        // JSON strings are TOML strings.
        let quoted = |path: &Path| serde_json::Value::from(path.to_string_lossy()).to_string();
        let (brunt, counts, core) = (quoted(&self.settings.brunt), quoted(counts), self.cores[1]);
        format!(
            "policy = '{policy}'\ncores = '{core}'\n\
             [service]\nlisten = '{address}'\nslo = '{SLO}'\npeak = '{PEAK}'\n\
             [source]\nfile = {counts}\n\
             [[job]]\nrepeat = true\nprogress = '^progress (\\d+)'\n\
             command = [{brunt}, 'stress', 'memory', '--threads', '8', '--size', '320000KiB', '--progress']\n"
        )
    }

    fn status(&self, pid: u32) -> Option<Status> {
        let output = pinned(&self.cores[..1], || self.brunt(&["colocate", "status", "--json"]).output().ok())?;
        let all: Vec<Status> = serde_json::from_slice(&output.stdout).ok()?;
        all.into_iter().find(|status| status.controller.pid == pid)
    }

    fn records(&self) -> Result<Vec<Record>, String> {
        let path = self.home.join("out").join(AUDIT);
        let named = |why: String| format!("{}: {why}", path.display());
        let text = fs::read_to_string(&path).map_err(|e| named(e.to_string()))?;
        let record = |line| serde_json::from_str(line).map_err(|e| named(e.to_string()));
        text.lines().skip(1).map(record).collect()
    }

    /// Waits until it holds, however long that takes, unless a process or this program ends.
    fn until(&self, what: &str, processes: &mut [Process], mut holds: impl FnMut() -> bool) -> Result<(), String> {
        let begin = Instant::now();
        let mut is_said = false;
        while !holds() {
            if !is_said && begin.elapsed() >= BEGIN {
                is_said = true;
                eprintln!("{}: for {} s this is waited for: {what}", self.home.display(), BEGIN.as_secs());
            }
            self.pass(LOOK, processes)?;
        }
        Ok(())
    }

    /// Waits, unless a process or this program ends.
    fn pass(&self, time: Duration, processes: &mut [Process]) -> Result<(), String> {
        let end = Instant::now() + time;
        loop {
            if self.stop.load(Relaxed) {
                return Err("interrupted".to_owned());
            }
            processes.iter_mut().try_for_each(Process::check)?;
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            sleep(left.min(LOOK));
        }
    }
}

fn is_at_ceiling(status: &Status) -> bool {
    status.decision.allotment.cores >= AT_CEILING
}

/// Runs it in a thread on these cores: processes that it starts begin there.
fn pinned<T: Send>(cores: &[usize], start: impl FnOnce() -> T + Send) -> T {
    thread::scope(|scope| {
        let thread = scope.spawn(|| {
            let _ = affinity::pin(cores);
            start()
        });
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// An address below the ports from which the load connects.
fn free_address() -> Result<String, String> {
    let first = 20_000 + (process::id() % 10_000) as u16;
    let is_free = |port: &u16| TcpListener::bind(("127.0.0.1", *port)).is_ok();
    let port = (first..first + 100).find(is_free).ok_or("no port is free")?;
    Ok(format!("127.0.0.1:{port}"))
}
