//! Process groups end when stopped, and when the run that started them is gone.

use brunt_lab::clock;
use brunt_lab::system::process_group::{Launch, ProcessGroup};
use brunt_lab::system::process_registry::ProcessRegistry;
use brunt_results::Cores;
use brunt_testkit::{LIMIT, home, is_running, until, until_some};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

fn sh(script: &str, log: &Path) -> Launch {
    let stdout = File::create(log).unwrap();
    Launch {
        program: "sh".into(),
        args: vec!["-c".into(), script.into()],
        dir: None,
        env: BTreeMap::new(),
        cores: None,
        stderr: stdout.try_clone().unwrap(),
        stdout,
    }
}

/// Process ids written by the script; waits for this many.
fn pids(log: &Path, count: usize) -> Vec<u32> {
    until_some("the script has written its process ids", || {
        let text = fs::read_to_string(log).unwrap();
        let pids: Vec<u32> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        (pids.len() >= count && text.ends_with('\n')).then_some(pids)
    })
}

#[test]
fn a_group_that_ignores_sigterm_is_killed() {
    let home = home();
    let ledger = Arc::new(ProcessRegistry::open(&home.path().join("running.json")).unwrap().0);
    let log = home.path().join("log");
    let script = "trap '' TERM; sleep 61 & echo $! $$; while :; do sleep 1; done";
    let mut group = ProcessGroup::start(sh(script, &log), &ledger).unwrap();
    let pids = pids(&log, 2);
    group.stop(Duration::from_millis(200));
    assert!(pids.iter().all(|pid| !is_running(*pid)));
}

#[test]
fn children_that_outlive_their_parent_are_killed() {
    let home = home();
    let ledger = Arc::new(ProcessRegistry::open(&home.path().join("running.json")).unwrap().0);
    let log = home.path().join("log");
    let mut group = ProcessGroup::start(sh("sleep 62 & echo $!", &log), &ledger).unwrap();
    let pids = pids(&log, 1);
    until("the group's first process has ended", || group.ended().is_some());
    assert!(is_running(pids[0]));
    drop(group);
    assert!(!is_running(pids[0]));
}

#[test]
fn a_stopped_group_can_be_ended() {
    let home = home();
    let ledger = Arc::new(ProcessRegistry::open(&home.path().join("running.json")).unwrap().0);
    let log = home.path().join("log");
    let mut group = ProcessGroup::start(sh("echo $$; kill -STOP $$; sleep 63", &log), &ledger).unwrap();
    let pids = pids(&log, 1);
    let since = clock::now();
    group.stop(Duration::from_secs(600));
    assert!(!is_running(pids[0]) && clock::since(since) < LIMIT, "{:?}", clock::since(since));
}

#[test]
fn the_next_run_kills_exactly_what_a_killed_run_left() {
    let home = home();
    let place = home.path().join("running.json");
    let ledger = Arc::new(ProcessRegistry::open(&place).unwrap().0);
    let (log, other) = (home.path().join("log"), home.path().join("other"));
    // A run that is killed runs no destructor.
    std::mem::forget(ProcessGroup::start(sh("sleep 64 & echo $! $$; wait", &log), &ledger).unwrap());
    let left = pids(&log, 2);
    let noted = fs::read_to_string(&place).unwrap();

    // The same id with another start time: the id was reused.
    let another = Arc::new(ProcessRegistry::open(&home.path().join("another.json")).unwrap().0);
    let bystander = ProcessGroup::start(sh("echo $$; sleep 65", &other), &another).unwrap();
    let spared = pids(&other, 1)[0];
    let mut page: serde_json::Value = serde_json::from_str(&noted).unwrap();
    let entry = serde_json::json!({"group": bystander.pid(), "started": 12345});
    page["groups"].as_array_mut().unwrap().push(entry);
    fs::write(&place, page.to_string()).unwrap();

    let (_ledger, ended) = ProcessRegistry::open(&place).unwrap();
    assert_eq!(ended, 1);
    assert!(left.iter().all(|pid| !is_running(*pid)));
    assert!(is_running(spared));
}

#[test]
fn processes_not_yet_recorded_are_killed_too() {
    let home = home();
    let place = home.path().join("running.json");
    let ledger = Arc::new(ProcessRegistry::open(&place).unwrap().0);
    let log = home.path().join("log");
    std::mem::forget(ProcessGroup::start(sh("sleep 66 & echo $! $$; wait", &log), &ledger).unwrap());
    let left = pids(&log, 2);
    // As if killed before the group was recorded.
    fs::remove_file(&place).unwrap();
    let (_ledger, ended) = ProcessRegistry::open(&place).unwrap();
    assert_eq!(ended, 1);
    assert!(left.iter().all(|pid| !is_running(*pid)));
}

#[test]
fn pinning_a_group_leaves_the_caller_unpinned() {
    let home = home();
    let ledger = Arc::new(ProcessRegistry::open(&home.path().join("running.json")).unwrap().0);
    let log = home.path().join("log");
    let before = rustix::thread::sched_getaffinity(None).unwrap();
    let core = (0..1024).rfind(|core| before.is_set(*core)).unwrap();
    let mut launch = sh("grep Cpus_allowed_list /proc/self/status", &log);
    launch.cores = Some(Cores(vec![core]));
    let mut group = ProcessGroup::start(launch, &ledger).unwrap();
    until("the group's first process has ended", || group.ended().is_some());
    let seen = fs::read_to_string(&log).unwrap();
    assert_eq!(seen.split_whitespace().last().unwrap(), core.to_string());
    assert_eq!(rustix::thread::sched_getaffinity(None).unwrap(), before);
}

#[test]
fn a_missing_program_is_named() {
    let home = home();
    let ledger = Arc::new(ProcessRegistry::open(&home.path().join("running.json")).unwrap().0);
    let mut launch = sh("", &home.path().join("log"));
    launch.program = "/no/such/server".into();
    let error = ProcessGroup::start(launch, &ledger).unwrap_err().to_string();
    assert!(error.contains("cannot start /no/such/server"), "{error}");
}
