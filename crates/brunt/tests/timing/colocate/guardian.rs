//! A controller that is killed or stopped at any moment: its jobs are frozen, and nothing of them is left.

use super::controller::{self, Controller, plan, seen};
use super::scene::{BRUNT, Scene, has_ended, knobs, until};
use brunt_meter::cgroup::{Linux, is_frozen, members};
use brunt_testkit::{Random, Signal, alone, signal, told};
use std::path::Path;
use std::process::{Command, Output};
use std::thread;
use std::time::Duration;

fn recover(home: &Path) -> Output {
    let mut command = Command::new(BRUNT);
    command.args(["colocate", "recover"]).env("BRUNT_STATE_DIR", home.join("state")).output().unwrap()
}

/// One process that ends with the controller, and one that no longer knows it.
const JOB: &str = r#"
[[job]]
command = ["sh", "-c", "trap '' TERM; (setsid sh -c 'while sleep 0.01; do :; done' &); while sleep 0.01; do :; done"]
"#;

/// Without the idle class, so that a busy machine does not hold up the job.
fn start(home: &Path) -> Controller {
    controller::start(home, &plan(home, "none", JOB))
}

/// The job's processes once both run.
fn running(controller: &Controller) -> Vec<u32> {
    until("both processes of the job run", || members(&Linux, &controller.dirs).len() >= 2);
    members(&Linux, &controller.dirs).into_iter().collect()
}

fn can_run() -> bool {
    Scene::new().map(Scene::end).is_some()
}

fn gone(controller: &Controller, pids: &[u32]) {
    until("the groups are removed", || controller.dirs.iter().all(|dir| !dir.exists()));
    until("the journal is removed", || !controller.journal.exists());
    until("the guardians have ended", || controller.guardians.iter().all(|guardian| has_ended(*guardian)));
    assert!(pids.iter().all(|pid| has_ended(*pid)));
}

/// When the guardian notices is shown in given time by brunt-colocate's own tests.
#[test]
fn a_killed_or_stopped_controller_leaves_its_jobs_frozen_and_then_nothing() {
    let _alone = alone();
    if !can_run() {
        return;
    }
    let (before, mut random) = (knobs(), Random::from_environment());
    let home = brunt_testkit::home();
    for round in 0..6 {
        let mut controller = start(home.path());
        let pids = running(&controller);
        thread::sleep(Duration::from_millis(random.below(250)));
        let stopped = round % 2 == 1;
        controller.running.signal(if stopped { Signal::STOP } else { Signal::KILL });
        let frozen = || is_frozen(&Linux, &controller.dirs) || controller.dirs.iter().all(|dir| !dir.exists());
        until("its jobs are frozen", frozen);
        if stopped {
            controller.running.signal(Signal::CONT);
            until("its jobs run again", || !is_frozen(&Linux, &controller.dirs));
            controller.running.signal(Signal::KILL);
        }
        controller.end();
        gone(&controller, &pids);
    }
    assert_eq!(knobs(), before);
}

#[test]
fn a_controller_that_ends_properly_needs_no_guardian() {
    let _alone = alone();
    if !can_run() {
        return;
    }
    let home = brunt_testkit::home();
    let mut controller = start(home.path());
    let pids = running(&controller);
    let (stdout, _) = told(&recover(home.path()), 0);
    assert!(stdout.contains(&format!("in use by process {}", controller.running.pid())), "{stdout}");
    controller.running.signal(Signal::TERM);
    assert!(controller.end().success());
    gone(&controller, &pids);
}

/// The last guardian undoes the changes when the one that gets heartbeats is killed too; status names it.
#[test]
fn a_controller_and_its_guardian_killed_in_one_instant_leave_nothing() {
    let _alone = alone();
    if !can_run() {
        return;
    }
    let (before, mut random) = (knobs(), Random::from_environment());
    let home = brunt_testkit::home();
    for _ in 0..6 {
        let mut controller = start(home.path());
        let pids = running(&controller);
        until("status says that the service is protected", || seen(home.path()).0 == 0);
        thread::sleep(Duration::from_millis(random.below(250)));
        signal(controller.guardians[0], Signal::KILL);
        controller.running.signal(Signal::KILL);
        controller.end();
        if let (code, Some(seen)) = seen(home.path()) {
            let problem = &seen["health"]["problems"][0];
            assert_eq!((code, &seen["health"]["controller"]), (1, &serde_json::json!("gone")), "{seen}");
            assert!(
                problem.as_str().unwrap().contains(&format!("guardian {} ends", controller.guardians[1])),
                "{seen}"
            );
        }
        gone(&controller, &pids);
        assert_eq!(seen(home.path()), (1, None));
    }
    assert_eq!(knobs(), before);
}

#[test]
fn status_says_that_a_controller_is_stopped_and_what_its_guardian_does() {
    let _alone = alone();
    if !can_run() {
        return;
    }
    let home = brunt_testkit::home();
    let mut controller = start(home.path());
    until("status says that the service is protected", || seen(home.path()).0 == 0);
    controller.running.signal(Signal::STOP);
    until("status says that the guardian has frozen the jobs", || {
        let (code, seen) = seen(home.path());
        let health = &seen.unwrap()["health"];
        code == 1
            && health["controller"] == "stopped"
            && health["frozen_by"] == "guardian"
            && health["remedy"] == format!("kill -CONT {}", controller.running.pid())
    });
    controller.running.signal(Signal::CONT);
    until("status says that the service is protected again", || seen(home.path()).0 == 0);
    controller.running.signal(Signal::TERM);
    assert!(controller.end().success());
}

#[test]
fn recovery_undoes_what_a_killed_controller_and_its_guardians_left() {
    let _alone = alone();
    if !can_run() {
        return;
    }
    let before = knobs();
    let home = brunt_testkit::home();
    for round in 0..3 {
        let mut controller = start(home.path());
        let pids = running(&controller);
        // Ctrl-C and the like do not end a guardian.
        for guardian in controller.guardians {
            [Signal::INT, Signal::TERM, Signal::HUP].iter().for_each(|one| signal(guardian, *one));
        }
        // A controller that runs would start others.
        controller.running.signal(Signal::STOP);
        controller.guardians.iter().for_each(|guardian| signal(*guardian, Signal::KILL));
        controller.running.signal(Signal::KILL);
        controller.end();
        assert!(controller.journal.exists(), "round {round}: nothing was left to undo");
        let (code, left) = seen(home.path());
        assert_eq!((code, &left.unwrap()["health"]["remedy"]), (1, &serde_json::json!("brunt colocate recover")));
        let mut next = Command::new(BRUNT);
        let next = next.args(["colocate", "queue", "list"]).env("BRUNT_STATE_DIR", home.path().join("state")).output();
        let (_, stderr) = told(&next.unwrap(), 0);
        assert!(stderr.contains("its jobs and limits are left on this machine: brunt colocate recover"), "{stderr}");
        let (stdout, stderr) = told(&recover(home.path()), 0);
        assert!(stdout.contains("changes undone") && stderr.is_empty(), "{stdout}{stderr}");
        gone(&controller, &pids);
        let (stdout, _) = told(&recover(home.path()), 0);
        assert!(!stdout.contains("undone"), "{stdout}");
    }
    assert_eq!(knobs(), before);
}

/// As root, it goes back to the groups that it came from and forgets its environment; a child of it outlives the job.
const LEAVES: &str = r#"
[[job]]
command = ["sh", "-c", "for p in /sys/fs/cgroup/cgroup.procs /sys/fs/cgroup/*/cgroup.procs; do echo $$ > $p; done 2>/dev/null; setsid env -i sh -c 'while /bin/sleep 0.1; do :; done' & exit 0"]
[[job]]
command = ["sleep", "1000"]
"#;

#[test]
fn a_process_that_leaves_its_group_without_its_environment_is_brought_back_and_ends_with_the_run() {
    let _alone = alone();
    if !can_run() {
        return;
    }
    let home = brunt_testkit::home();
    let mut controller = controller::start(home.path(), &plan(home.path(), "none", LEAVES));
    let is_it = |pid: &u32| {
        let words = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&words).contains("while /bin/sleep 0.1")
    };
    let inside = || members(&Linux, &controller.dirs).into_iter().find(is_it);
    until("what has left the group is in it again", || inside().is_some());
    let stray = inside().unwrap();
    controller.running.signal(Signal::TERM);
    assert!(controller.end().success());
    gone(&controller, &[stray]);
}
