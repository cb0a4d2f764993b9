//! `brunt colocate run` in a process of its own.

use super::scene::{BRUNT, until};
use brunt_colocate::controller::Status;
use brunt_colocate::journal::{Contents, all};
use brunt_results::colocation::Summary;
use brunt_testkit::{Running, told};
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Output, Stdio};

/// Killed at the end of the test; its guardian then ends the rest.
pub struct Controller {
    pub running: Running,
    /// The one that hears heartbeats, and the one that takes over from it.
    pub guardians: [u32; 2],
    pub journal: PathBuf,
    pub dirs: Vec<PathBuf>,
}

impl Controller {
    /// Waits for its end, and leaves what it started.
    #[track_caller]
    pub fn end(&mut self) -> ExitStatus {
        until("the controller ends", || self.running.is_over());
        self.running.child().wait().unwrap()
    }
}

/// A plan with counts from the file `counts` in this directory; the jobs come last.
pub fn plan(home: &Path, policy: &str, jobs: &str) -> PathBuf {
    let last = std::thread::available_parallelism().unwrap().get() - 1;
    let path = home.join("plan.toml");
    let text = format!(
        "policy = \"{policy}\"\ncores = \"{last}\"\ngrace = \"500ms\"\nat_once = \"2\"\n\
         [service]\npid = {}\nslo = \"p99<6ms\"\npeak = \"10k\"\n[source]\nfile = \"{}\"\n\
         [limits]\nmemory = \"64MiB\"\nprocesses = \"64\"\n{jobs}",
        std::process::id(),
        home.join("counts").display()
    );
    fs::write(&path, text).unwrap();
    path
}

/// A window of a tenth of a second.
pub fn count(home: &Path, count: u64, slow: u64) {
    let mut file = fs::OpenOptions::new().create(true).append(true).open(home.join("counts")).unwrap();
    writeln!(file, "{{\"seconds\": 0.1, \"count\": {count}, \"slow\": {slow}, \"latency_ms\": 1.0}}").unwrap();
}

pub fn run(home: &Path, plan: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(BRUNT);
    command.args(["colocate", "run"]).arg(plan).arg("--out").arg(home.join("out")).args(args);
    command.env("BRUNT_STATE_DIR", home.join("state")).stdin(Stdio::null());
    command
}

pub fn finish(home: &Path, plan: &Path, args: &[&str]) -> Output {
    run(home, plan, args).output().unwrap()
}

/// Starts it, and waits until its first job runs.
pub fn start(home: &Path, plan: &Path) -> Controller {
    let mut running = Running::start(run(home, plan, &[]).stdout(Stdio::null()).stderr(Stdio::null()));
    let mut started = None;
    until("the first job runs", || {
        assert!(!running.is_over(), "the controller has ended: {}", running.child().wait().unwrap());
        started = status(home).filter(|status| status.controller.pid == running.pid() && !status.jobs.is_empty());
        started.is_some()
    });
    let journals = all(&home.join("state/colocate"));
    let journal = journals.iter().find(|path| path.to_string_lossy().contains(&format!("/{}-", running.pid())));
    let journal = journal.unwrap().clone();
    let dirs = Contents::read(&journal).unwrap().groups();
    let guardians: Vec<u32> = started.unwrap().guardians.iter().map(|guardian| guardian.pid).collect();
    Controller { running, guardians: guardians.try_into().unwrap(), journal, dirs }
}

/// What `brunt colocate status` says of the only run.
pub fn status(home: &Path) -> Option<Status> {
    let (_, seen) = seen(home);
    seen.map(|seen| serde_json::from_value(seen).unwrap())
}

/// The same as JSON, with the exit status.
pub fn seen(home: &Path) -> (i32, Option<serde_json::Value>) {
    let mut command = Command::new(BRUNT);
    let output = command.args(["colocate", "status", "--json"]).env("BRUNT_STATE_DIR", home.join("state")).output();
    let output = output.unwrap();
    let code = output.status.code().unwrap();
    let (stdout, _) = told(&output, code);
    (code, serde_json::from_str::<Vec<serde_json::Value>>(&stdout).unwrap().pop())
}

/// Of the last run.
pub fn summary(home: &Path) -> Summary {
    serde_json::from_slice(&fs::read(home.join("out/summary.json")).unwrap()).unwrap()
}
