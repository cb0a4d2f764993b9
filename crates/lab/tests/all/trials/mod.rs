//! Whole experiments with a fake target and tester: what is recorded when they work and when they fail, and that no process
//! outlives its trial.

mod colocation;
mod hooks;
mod listening;
mod phases;

use brunt_lab::plan::read;
use brunt_lab::report;
use brunt_lab::run::Request;
use brunt_lab::run::experiment::{Summary, run};
use brunt_lab::run::preflight::unavailable;
use brunt_lab::run::{Event, Observer};
use brunt_lab::run_directory::{RunDirectory, TrialOutcome};
use brunt_lab::schedule::{Machine, Schedule};
use brunt_lab::testers::Tester;
use brunt_results::{Error, RunResult, directory::Directory};
use brunt_testkit::{Home, home, is_running};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use std::{fs, thread};

/// The name of [`echo_target`] in this binary.
const ECHO_TARGET: &str = "trials::echo_target";

/// Not a test: the target process of the others. Writes its process id to a file, then echoes.
#[test]
#[ignore = "the target of the other tests"]
fn echo_target() {
    let listen = std::env::var("TARGET_LISTEN").expect("the tests start this with an address");
    let pids = PathBuf::from(std::env::var("TARGET_PIDS").expect("the tests start this with a folder"));
    fs::write(pids.join(std::process::id().to_string()), "").unwrap();
    for connection in TcpListener::bind(listen).unwrap().incoming() {
        thread::spawn(move || {
            let (mut connection, mut buffer) = (connection.unwrap(), [0; 4096]);
            while let Ok(n @ 1..) = connection.read(&mut buffer) {
                connection.write_all(&buffer[..n]).unwrap();
            }
        });
    }
}

/// A folder with a plan, a tester and a place for results.
struct Scene {
    home: Home,
    plan: String,
    tester: String,
    /// Runs controllers of best-effort jobs.
    brunt: PathBuf,
    /// Time of the tester beyond its load.
    grace: Duration,
}

/// Shell code that finds `--out` among the flags.
const FIND_OUT: &str = "while [ $# -gt 0 ]; do case $1 in --out) out=$2;; esac; shift; done\n";

impl Scene {
    fn new(targets: &str) -> Self {
        let home = home();
        fs::create_dir(home.path().join("pids")).unwrap();
        let template = home.path().join("template.json");
        fs::write(&template, serde_json::to_vec(&result()).unwrap()).unwrap();
        let plan = format!(
            "name = 'scene'\nrepeats = 2\n[load]\nconnections = 4\nduration = '20ms'\nwarmup = '0s'\ntimeout = '100ms'\n{targets}"
        );
        let tester = format!("{FIND_OUT}cp {} $out/result.json\n", template.display());
        // Far more than a shell takes to start on a busy machine.
        Self { home, plan, tester, brunt: "/nonexistent".into(), grace: Duration::from_secs(60) }
    }

    /// A working target.
    fn echo(&self, name: &str) -> String {
        let exe = std::env::current_exe().unwrap();
        let pids = self.home.path().join("pids");
        format!(
            "[[target]]\nname = '{name}'\ncommand = ['{}', '--ignored', '--exact', '{ECHO_TARGET}']\nenv = {{ TARGET_LISTEN = '{{listen}}', TARGET_PIDS = '{}' }}\n",
            exe.display(),
            pids.display()
        )
    }

    fn with_echo(targets: &str, names: &[&str]) -> Self {
        let mut scene = Self::new(targets);
        for name in names {
            let echo = scene.echo(name);
            scene.plan.push_str(&echo);
        }
        scene
    }

    fn tester(mut self, script: &str) -> Self {
        self.tester = script.to_owned();
        self
    }

    fn out(&self) -> PathBuf {
        self.home.path().join("out")
    }

    fn store(&self) -> RunDirectory {
        RunDirectory::at(self.out())
    }

    fn prepare(&self) -> (Request, Schedule) {
        let script = self.home.path().join("tester.sh");
        fs::write(&script, &self.tester).unwrap();
        let plan = read("scene.toml", &self.plan).unwrap_or_else(|fault| panic!("{fault}"));
        let machine = Machine::here().unwrap();
        let schedule = Schedule::new(&plan, &machine, &unavailable(&plan, self.home.path(), None), &[]).unwrap();
        let request = Request {
            plan,
            plan_text: self.plan.clone(),
            base: self.home.path().to_owned(),
            out: self.out(),
            fresh: false,
            tester: Tester { program: "sh".into(), lead: vec![script.display().to_string()], grace: self.grace },
            generator: None,
            brunt: self.brunt.clone(),
            fleet: None,
            command: vec!["test".into()],
        };
        (request, schedule)
    }

    fn run(&self) -> Result<Summary, Error> {
        let (request, schedule) = self.prepare();
        run(&request, &schedule, &mut (), &AtomicBool::new(false))
    }

    #[track_caller]
    fn failure(&self, cell: &str) -> String {
        match self.store().outcome(cell, 1) {
            Some(TrialOutcome::Failed(failure)) => failure.line(),
            other => panic!("{cell} should have failed: {other:?}"),
        }
    }

    /// The process ids of all echo targets ever started here.
    fn pids(&self) -> Vec<u32> {
        let entries = fs::read_dir(self.home.path().join("pids")).unwrap();
        entries.map(|entry| entry.unwrap().file_name().to_str().unwrap().parse().unwrap()).collect()
    }

    #[track_caller]
    fn assert_no_process_left(&self, started: usize) {
        let pids = self.pids();
        assert_eq!(pids.len(), started, "targets started");
        for pid in pids {
            assert!(!is_running(pid), "process {pid} is still there");
        }
    }
}

fn result() -> RunResult {
    let mut result: RunResult = serde_json::from_value(serde_json::json!({
        "schema": brunt_results::result::SCHEMA, "measurement_revision": 1, "tester": "test",
        "verdict": {"kind": "ok", "why": [], "remedy": []}, "interrupted": false,
        "load": brunt_results::result::Load::default(), "requests": brunt_results::result::Requests::default(),
        "latency": brunt_results::result::Latency::default(), "errors": brunt_results::result::Errors::default(),
        "connections": brunt_results::result::Connections::default(), "bytes": brunt_results::result::Bytes::default(),
        "generator": brunt_results::result::Generator::default(), "server": brunt_results::result::Server::default(),
    }))
    .unwrap();
    result.requests.rate = 5000.0;
    result.generator.run_queue_wait_percent = Some(1.0);
    result
}

#[test]
fn every_trial_has_its_own_target_and_directory_and_runs_once() {
    let scene = Scene::with_echo("", &["a", "b"]);
    assert_eq!(scene.run().unwrap(), Summary { interrupted: false, resumed: 0, run: 4 });
    scene.assert_no_process_left(4);
    let read = report::read(&scene.out()).unwrap();
    assert_eq!((read.rows.len(), read.failed(), read.not_run), (2, 0, 0));
    assert_eq!(read.rows[0].figures.rate.unwrap().median, 5000.0);
    let record = scene.store().record("target=a", 2).unwrap();
    let port = record.tester.iter().find_map(|word| word.strip_prefix("tcp://127.0.0.1:")).unwrap();
    assert!(port.parse::<u16>().unwrap() < 32_768);
    for flags in ["-c 4", "-d 20ms", "--warmup 0s", "--size 100B", "--seed 2", "--quiet"] {
        assert!(record.tester.join(" ").contains(flags), "{flags} is not in {:?}", record.tester);
    }

    assert_eq!(scene.run().unwrap(), Summary { interrupted: false, resumed: 4, run: 0 });
    fs::remove_dir_all(scene.store().trial("target=b", 1)).unwrap();
    assert_eq!(scene.run().unwrap(), Summary { interrupted: false, resumed: 3, run: 1 });
}

#[test]
fn a_target_that_dies_or_never_listens_is_recorded_and_the_run_continues() {
    let bad = "[[target]]\nname = 'dies'\ncommand = ['sh', '-c', 'echo no such device >&2; exit 7']\n\
               [[target]]\nname = 'silent'\nready_timeout = '3s'\ncommand = ['sh', '-c', 'echo thinking; sleep 60']\n\
               [[target]]\nname = 'absent'\ncommand = ['./no-such-program{port}']\n";
    let scene = Scene::with_echo(bad, &["works"]);
    assert_eq!(scene.run().unwrap().run, 8);
    let dies = scene.failure("target=dies");
    assert_eq!(dies, "the target ended with status 7 before it accepted a connection: no such device");
    let silent = scene.failure("target=silent");
    assert!(silent.contains("did not listen on 127.0.0.1:") && silent.contains("within 3s: thinking"), "{silent}");
    assert!(scene.failure("target=absent").contains("cannot start"));
    let read = report::read(&scene.out()).unwrap();
    assert_eq!((read.failed(), read.not_run), (6, 0));
    scene.assert_no_process_left(2);
}

#[test]
fn a_target_that_dies_under_load_fails_its_trial_even_if_a_result_was_written() {
    let scene = Scene::with_echo("", &["a"]);
    let kill = format!(
        "{}for pid in $(ls {}/pids); do kill -9 $pid 2>/dev/null; done; sleep 5",
        scene.tester,
        scene.home.path().display()
    );
    let scene = scene.tester(&kill);
    scene.run().unwrap();
    assert!(scene.failure("target=a").contains("the target was killed by signal 9 under load"));
    assert!(!scene.store().trial("target=a", 1).join("result.json").exists());
}

#[test]
fn a_tester_that_fails_hangs_or_writes_nothing_is_recorded_and_its_target_stopped() {
    for (script, expected) in [
        ("echo first; echo cannot connect >&2; exit 1", "the tester ended with status 1: cannot connect"),
        ("sleep 60", "the tester did not end within"),
        ("exit 0", "the tester left no result"),
        (&format!("{FIND_OUT}echo '{{' > $out/result.json"), "the tester left no result"),
    ] {
        let mut scene = Scene::with_echo("", &["a"]).tester(script);
        if script.starts_with("sleep") {
            scene.grace = Duration::from_millis(400);
        }
        scene.run().unwrap();
        let failure = scene.failure("target=a");
        assert!(failure.contains(expected), "{script}: {failure}");
        scene.assert_no_process_left(2);
    }
}

/// Calls a function when the load of the n-th trial has begun.
struct At<F>(usize, F);

impl<F: FnMut()> Observer for At<F> {
    fn on_event(&mut self, event: &Event<'_>) {
        if let Event::TrialRunning { trial, activity: "load" } = event
            && trial.number == self.0
        {
            (self.1)();
        }
    }
}

#[test]
fn an_interrupted_run_keeps_its_results_and_can_be_continued() {
    let scene = Scene::with_echo("", &["a", "b"]);
    let stop = AtomicBool::new(false);
    let (request, schedule) = scene.prepare();
    let finish = run(&request, &schedule, &mut At(3, || stop.store(true, Ordering::Relaxed)), &stop).unwrap();
    assert_eq!(finish, Summary { interrupted: true, resumed: 0, run: 2 });
    scene.assert_no_process_left(3);
    let read = report::read(&scene.out()).unwrap();
    assert_eq!((read.failed(), read.not_run), (0, 2));
    assert_eq!(scene.run().unwrap(), Summary { interrupted: false, resumed: 2, run: 2 });
}

#[test]
fn a_panic_leaves_no_process() {
    let scene = Scene::with_echo("", &["a"]);
    let (request, schedule) = scene.prepare();
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        let mut watch = At(1, || panic!("on purpose"));
        run(&request, &schedule, &mut watch, &AtomicBool::new(false))
    }));
    assert!(panicked.is_err());
    scene.assert_no_process_left(1);
}

#[test]
fn a_target_that_leaves_its_process_group_is_reported() {
    let mut scene = Scene::new("");
    let echo = scene.echo("daemon").replace("command = [", "command = ['setsid', '--fork', ");
    // The launcher stays, as the process that is waited for.
    let echo = echo.replace("['setsid', '--fork', ", "['sh', '-c', 'setsid \"$@\" & sleep 60', 'sh', ");
    scene.plan.push_str(&echo);
    scene.plan = scene.plan.replace("repeats = 2", "repeats = 1");
    scene.run().unwrap();
    let failure = scene.failure("target=daemon");
    for pid in scene.pids() {
        let _ = std::process::Command::new("kill").args(["-9", &pid.to_string()]).status();
    }
    assert!(failure.contains("must stay in the foreground"), "{failure}");
}

#[test]
fn a_build_comes_first_and_its_failure_is_recorded() {
    let targets =
        "[[target]]\nname = 'broken'\nbuild = ['sh', '-c', 'echo missing semicolon >&2; exit 3']\ncommand = ['./x']\n";
    let mut scene = Scene::new(targets);
    // A target whose program exists only once it is built.
    let echo = scene.echo("built");
    let exe = std::env::current_exe().unwrap();
    let echo = echo.replace(&format!("'{}'", exe.display()), "'./built'");
    scene.plan.push_str(&format!("{echo}build = ['ln', '-s', '{}', 'built']\n", exe.display()));
    assert_eq!(scene.run().unwrap().run, 4);
    let failure = scene.failure("target=broken");
    assert!(failure.contains("ended with status 3: missing semicolon"), "{failure}");
    assert!(scene.store().is_done("target=built", 2));
    scene.assert_no_process_left(2);
}

#[test]
fn another_plan_in_the_same_directory_is_rejected_with_both_remedies() {
    let mut scene = Scene::with_echo("", &["a"]);
    scene.run().unwrap();
    scene.plan = scene.plan.replace("connections = 4", "connections = 5");
    let error = scene.run().unwrap_err();
    assert!(matches!(&error, Error::Usage(text) if text.contains("--fresh") && text.contains("--out")), "{error}");
    let (mut request, schedule) = scene.prepare();
    request.fresh = true;
    let finish = run(&request, &schedule, &mut (), &AtomicBool::new(false)).unwrap();
    assert_eq!(finish, Summary { interrupted: false, resumed: 0, run: 2 });
}

#[test]
fn a_directory_that_cannot_be_written_is_named_before_anything_is_started() {
    let scene = Scene::with_echo("", &["a"]);
    fs::write(scene.out(), "a file").unwrap();
    let error = scene.run().unwrap_err().to_string();
    assert!(error.contains("cannot write to") && error.contains("out"), "{error}");
    scene.assert_no_process_left(0);
}

#[test]
fn when_every_cell_is_skipped_the_reasons_are_the_error() {
    let scene = Scene::new("[[target]]\nname = 'a'\nskip = 'not today'\ncommand = ['sh']\n");
    let error = scene.run().unwrap_err().to_string();
    assert!(error.contains("nothing can be run here") && error.contains("not today"), "{error}");
}

#[test]
fn an_incomplete_trial_is_run_again() {
    let scene = Scene::with_echo("", &["a"]);
    let trial = scene.store().trial("target=a", 1);
    Directory::create(&trial).unwrap();
    fs::write(trial.join("series.jsonl"), "half").unwrap();
    assert_eq!(scene.run().unwrap().run, 2);
    assert!(!trial.join("series.jsonl").exists());
}

#[test]
fn the_target_is_pinned_to_the_server_cores() {
    let scene = Scene::with_echo("", &["a"]);
    let place = scene.home.path().join("affinity");
    let script = format!(
        "grep Cpus_allowed_list /proc/$(ls {}/pids | tail -1)/status >> {}\n{}",
        scene.home.path().display(),
        place.display(),
        scene.tester
    );
    let mut scene = scene.tester(&script);
    scene.plan = scene.plan.replace("repeats = 2", "repeats = 1");
    scene.run().unwrap();
    let last = Machine::here().unwrap().cores.last().unwrap().to_string();
    let seen = fs::read_to_string(place).unwrap();
    assert_eq!(seen.split_whitespace().last(), Some(last.as_str()), "{seen}");
}
