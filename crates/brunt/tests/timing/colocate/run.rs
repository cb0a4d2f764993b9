//! `brunt colocate run`: jobs run to their end, and what they may use follows the service.

use super::controller::{count, finish, plan, run, seen, start, status, summary};
use super::scene::{BRUNT, Scene, has_ended, knobs, until};
use brunt_colocate::audit::Record;
use brunt_colocate::policy::Reason;
use brunt_colocate::queue::Queue;
use brunt_meter::cgroup::{Linux, is_frozen};
use brunt_testkit::{Running, Signal, alone, told, until_some};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

fn can_run() -> bool {
    Scene::new().map(Scene::end).is_some()
}

/// Of the audit log, without repetitions.
fn reasons(home: &Path) -> Vec<Reason> {
    let log = fs::read_to_string(home.join("out/audit.jsonl")).unwrap();
    let mut reasons: Vec<Reason> =
        log.lines().skip(1).map(|line| serde_json::from_str::<Record>(line).unwrap().decision.reason).collect();
    reasons.dedup();
    reasons
}

#[test]
fn jobs_run_to_their_end_and_the_summary_adds_up() {
    let _alone = alone();
    if !can_run() {
        return;
    }
    let (before, home) = (knobs(), brunt_testkit::home());
    let jobs = r#"
[[job]]
command = ["sh", "-c", "echo done 3; sleep 0.2; echo done 7"]
progress = 'done (\d+)'
[[job]]
command = ["sh", "-c", "echo done 5; exit 3"]
progress = 'done (\d+)'
retries = 1
"#;
    let plan = plan(home.path(), "none", jobs);
    (0..30).for_each(|_| count(home.path(), 100, 0));
    let (stdout, stderr) = told(&finish(home.path(), &plan, &[]), 0);
    assert!(stderr.contains("job 2 failed: exit 3"), "{stderr}");
    assert!(stdout.contains("3 attempts, 1 done, 1 failed, 0 preempted"), "{stdout}");
    let summary = summary(home.path());
    assert_eq!((summary.jobs.attempts, summary.jobs.progress), (3, Some(17.0)));
    assert_eq!(fs::read_to_string(home.path().join("out/jobs/1-1.out")).unwrap(), "done 3\ndone 7\n");
    let (replayed, _) = told(
        &Command::new(BRUNT).args(["colocate", "replay"]).arg(home.path().join("out/audit.jsonl")).output().unwrap(),
        0,
    );
    assert!(replayed.contains("none"), "{replayed}");
    assert_eq!(knobs(), before);
}

/// Each job has what it may have by itself, and what becomes of it is named.
#[test]
fn jobs_have_limits_of_their_own() {
    let _alone = alone();
    if !can_run() {
        return;
    }
    let (before, home) = (knobs(), brunt_testkit::home());
    // A line without an end, kept whole; two processes where one more is possible; a busy one that is told to end.
    let jobs = r#"
[[job]]
command = ["tail", "-n", "1", "/dev/zero"]
memory = "24MiB"
[[job]]
command = ["sh", "-c", "sleep 1000 & sleep 1000 & sleep 1000 & sleep 1000"]
processes = 3
[[job]]
command = ["timeout", "2", "sh", "-c", "while :; do :; done"]
cores = 0.2
"#;
    let plan = plan(home.path(), "none", jobs);
    (0..30).for_each(|_| count(home.path(), 100, 0));
    let (_, stderr) = told(&finish(home.path(), &plan, &[]), 0);
    assert!(
        stderr.contains("job 1 failed: signal 9, by the kernel: its memory was used up (memory of the job)"),
        "{stderr}"
    );
    assert!(stderr.contains("job 2 failed: exit 2"), "{stderr}");
    let queue = Queue::open(&home.path().join("out/queue.sqlite")).unwrap();
    let attempt = &queue.list().unwrap()[2].attempts[0];
    let seconds = (attempt.ended_unix_ms.unwrap() - attempt.started_unix_ms) as f64 / 1e3;
    let used = attempt.usage.cpu_seconds.unwrap();
    // A fifth of a core from when it was started.
    assert!(used > 0.0 && used < 0.2 * seconds + 0.1, "{used} in {seconds}");
    assert_eq!(knobs(), before);
}

#[test]
fn status_says_that_a_run_is_ending_and_another_signal_kills_its_jobs() {
    let _alone = alone();
    if !can_run() {
        return;
    }
    let (before, home) = (knobs(), brunt_testkit::home());
    let job =
        "[[job]]\ncommand = [\"sh\", \"-c\", \"trap : TERM; while :; do sleep 0.01; done\"]\nterm_grace = \"1h\"\n";
    let mut controller = start(home.path(), &plan(home.path(), "none", job));
    controller.running.signal(Signal::INT);
    let says = |words: &str| {
        let faults = status(home.path()).map(|status| status.faults);
        faults.is_some_and(|faults| faults.iter().any(|fault| fault.contains(words)))
    };
    until("status says it", || says("the run is ending: 1 job may take"));
    controller.running.signal(Signal::INT);
    assert!(controller.end().success());
    assert_eq!(knobs(), before);
}

#[test]
fn counts_that_never_come_are_told_of_and_named() {
    let _alone = alone();
    if !can_run() {
        return;
    }
    let home = brunt_testkit::home();
    let job = "[[job]]\ncommand = [\"sleep\", \"1000\"]\n";
    let mut command = run(home.path(), &plan(home.path(), "graded", job), &[]);
    let mut running = Running::start(command.stdout(Stdio::null()).stderr(Stdio::piped()));
    let told = running.line_after("no counts of the service's requests for ");
    assert!(told.contains(&home.path().join("counts").display().to_string()), "{told}");
    let (code, seen) = seen(home.path());
    assert_eq!((code, &seen.unwrap()["health"]["is_protecting"]), (1, &false.into()));
    running.signal(Signal::INT);
    assert!(running.end().success());
}

/// Writes a window of 1000 requests each tenth of a second, until it is dropped.
struct Feeder {
    /// Slow requests of the next windows.
    slow: Arc<AtomicU64>,
    /// The sender is there to be dropped.
    _end: Sender<()>,
}

impl Feeder {
    fn start(home: &Path) -> Self {
        let (slow, home) = (Arc::new(AtomicU64::new(0)), home.to_owned());
        let (end, ended) = channel();
        let fed = Arc::clone(&slow);
        thread::spawn(move || {
            while ended.recv_timeout(Duration::from_millis(100)) == Err(RecvTimeoutError::Timeout) {
                count(&home, 1000, fed.load(Relaxed));
            }
        });
        Self { slow, _end: end }
    }
}

/// When each of them comes is shown in given time by brunt-colocate's own tests.
#[test]
fn too_many_slow_requests_freeze_the_jobs_until_the_service_is_well_again() {
    let _alone = alone();
    if !can_run() {
        return;
    }
    let home = brunt_testkit::home();
    let job = "[[job]]\ncommand = [\"sh\", \"-c\", \"while sleep 0.01; do :; done\"]\n";
    let path = plan(home.path(), "graded", job);
    // A service that waits for no core, on a busy machine either: what is slow is not taken for the doing of others.
    let service = Running::start(Command::new("sleep").arg("1000"));
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace(&format!("pid = {}", std::process::id()), &format!("pid = {}", service.pid())))
        .unwrap();
    let home = home.path();
    let mut controller = start(home, &path);
    let reason = || status(home).map(|status| status.decision.reason);
    let is_frozen = || is_frozen(&Linux, &controller.dirs);
    let feeder = Feeder::start(home);
    until("counts are read", || !matches!(reason(), Some(Reason::Stale | Reason::Lost)) && !is_frozen());
    feeder.slow.store(200, Relaxed);
    until("the jobs are frozen", || reason() == Some(Reason::Cooldown) && is_frozen());
    feeder.slow.store(0, Relaxed);
    until("the jobs run again", || !is_frozen());
    drop(feeder);
    until("without counts they are frozen", || reason() == Some(Reason::Lost) && is_frozen());
    controller.running.signal(Signal::TERM);
    assert!(controller.end().success());
    let reasons = reasons(home);
    let mut reached = reasons.iter();
    let order = [Reason::Stale, Reason::Emergency, Reason::Cooldown, Reason::Stale, Reason::Lost];
    assert!(order.iter().all(|next| reached.any(|reason| reason == next)), "{reasons:?}");
    let summary = summary(home);
    assert!(summary.allotment.emergencies >= 1 && summary.allotment.frozen_seconds > 0.0, "{summary:?}");
    assert_eq!(summary.jobs.preempted, 1, "{summary:?}");
    assert!(controller.dirs.iter().all(|dir| !dir.exists()) && !controller.journal.exists());
    assert!(status(home).is_none());
}

#[test]
fn a_service_that_is_started_with_the_run_ends_with_it_and_ends_it() {
    let _alone = alone();
    if !can_run() {
        return;
    }
    let home = brunt_testkit::home();
    let text = fs::read_to_string(plan(home.path(), "none", "[[job]]\ncommand = [\"sleep\", \"60\"]\n")).unwrap();
    let with = |command: &str| {
        let path = home.path().join("with-command.toml");
        let pid = format!("pid = {}", std::process::id());
        fs::write(&path, text.replace(&pid, &format!("command = [\"sh\", \"-c\", \"{command}\"]"))).unwrap();
        path
    };
    let (_, stderr) = told(&finish(home.path(), &with("echo hello; sleep 0.3; exit 4"), &[]), 1);
    assert!(stderr.contains("the service ended (exit status: 4); its output is in"), "{stderr}");
    assert_eq!(fs::read_to_string(home.path().join("out/service.log")).unwrap(), "hello\n");
    let noted = home.path().join("pid");
    let service = format!("echo $$ >{}; exec sleep 1000", noted.display());
    let mut controller = start(home.path(), &with(&service));
    let pid = || fs::read_to_string(&noted).ok()?.trim().parse().ok();
    let pid = until_some("the service runs", pid);
    controller.running.signal(Signal::TERM);
    assert!(controller.end().success());
    let jobs = summary(home.path()).jobs;
    assert_eq!((jobs.attempts, jobs.done, jobs.failed, jobs.preempted), (1, 0, 0, 1));
    assert!(has_ended(pid));
}
