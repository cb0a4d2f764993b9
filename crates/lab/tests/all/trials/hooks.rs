//! Hooks and limits of targets.

use super::{At, FIND_OUT, Scene};
use brunt_lab::{run::experiment::run, schedule::Machine, system::cgroup};
use brunt_testkit::is_running;
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};

impl Scene {
    /// One working target with these lines, one repeat.
    fn one(lines: &str) -> Self {
        let mut scene = Self::with_echo("", &["a"]);
        scene.plan = scene.plan.replace("repeats = 2", "repeats = 1");
        scene.plan.push_str(&lines.replace("HOME", &scene.home.path().display().to_string()));
        scene
    }

    fn log(&self) -> String {
        fs::read_to_string(self.home.path().join("log")).unwrap_or_default()
    }
}

const AFTER: &str = "after = ['sh', '-c', 'for pid in $(ls HOME/pids); do if kill -0 $pid 2>/dev/null; then echo running; fi; done; echo after >>HOME/log']\n";

#[test]
fn before_and_after_run_around_every_trial_with_placeholders_and_environment() {
    let lines = "before = ['sh', '-c', 'echo before {connections} $TARGET_LISTEN {listen} >>HOME/log']\n";
    let mut scene = Scene::one(&format!("{lines}{AFTER}"));
    scene.plan = scene.plan.replace("repeats = 1", "repeats = 2");
    assert_eq!(scene.run().unwrap().run, 2);
    let log = scene.log();
    let words: Vec<&str> = log.split_whitespace().collect();
    assert_eq!((words.len(), words[0], words[1], words[4]), (10, "before", "4", "after"), "{log}");
    assert!(words[2].starts_with("127.0.0.1:") && words[2] == words[3], "{log}");
    let record = scene.store().record("target=a", 1).unwrap();
    assert!(record.before[2].contains(words[2]) && record.after[0] == "sh", "{record:?}");
    let out = scene.store().trial("target=a", 1).join("after.out");
    assert_eq!(fs::read_to_string(out).unwrap(), "", "the target still ran when after did");
}

#[test]
fn a_failing_before_prevents_the_start_but_not_after() {
    let scene = Scene::one(&format!("before = ['sh', '-c', 'echo out; echo no database >&2; exit 3']\n{AFTER}"));
    scene.run().unwrap();
    let failure = scene.failure("target=a");
    assert_eq!(failure, "before 'sh -c echo out; echo no database >&2; exit 3' ended with status 3: no database");
    assert_eq!(scene.log(), "after\n");
    scene.assert_no_process_left(0);
}

#[test]
fn a_before_that_cannot_be_started_or_does_not_end_is_named() {
    let scene = Scene::one("before = ['./no-such-program']\n");
    scene.run().unwrap();
    assert!(scene.failure("target=a").contains("before: cannot start"), "{}", scene.failure("target=a"));
    let scene = Scene::one("before = ['sh', '-c', 'echo $$ >HOME/log; sleep 60']\nhook_timeout = '300ms'\n");
    scene.run().unwrap();
    let failure = scene.failure("target=a");
    assert!(failure.contains("did not end within 300ms: raise hook_timeout"), "{failure}");
    let pid = scene.log();
    // On a busy machine it may be killed before it writes its id.
    assert!(pid.trim().is_empty() || !is_running(pid.trim().parse().unwrap()));
}

#[test]
fn after_runs_when_the_trial_failed_and_its_own_failure_fails_the_trial() {
    let scene = Scene::one(AFTER).tester("exit 1");
    scene.run().unwrap();
    assert!(scene.failure("target=a").contains("the tester ended with status 1"));
    assert_eq!(scene.log(), "after\n");

    let scene = Scene::one("after = ['sh', '-c', 'echo cannot clean >&2; exit 9']\n");
    scene.run().unwrap();
    let failure = scene.failure("target=a");
    assert_eq!(failure, "after 'sh -c echo cannot clean >&2; exit 9' ended with status 9: cannot clean");
    assert!(!scene.store().trial("target=a", 1).join("result.json").exists());

    let both = scene.tester("echo broken >&2; exit 1");
    both.run().unwrap();
    let failure = both.failure("target=a");
    assert!(failure.starts_with("the tester ended with status 1: broken | after 'sh"), "{failure}");
}

#[test]
fn after_runs_when_the_run_is_interrupted_and_says_so_if_it_fails() {
    let interrupted = |lines: &str| {
        let scene = Scene::one(lines).tester("sleep 60");
        let stop = AtomicBool::new(false);
        let (request, schedule) = scene.prepare();
        let finish = run(&request, &schedule, &mut At(1, || stop.store(true, Ordering::Relaxed)), &stop).unwrap();
        (scene, finish)
    };
    let (scene, finish) = interrupted(AFTER);
    assert!(finish.interrupted);
    assert_eq!(scene.log(), "after\n");
    assert!(!scene.store().trial("target=a", 1).exists());
    scene.assert_no_process_left(1);
    let (scene, finish) = interrupted("after = ['sh', '-c', 'exit 9']\n");
    assert!(finish.interrupted);
    assert_eq!(scene.failure("target=a"), "after 'sh -c exit 9' ended with status 9");
}

#[test]
fn background_processes_of_before_live_until_the_trial_ends() {
    let scene = Scene::one("before = ['sh', '-c', 'sleep 600 & echo $! >HOME/background']\n");
    let background = scene.home.path().join("background");
    let alive = format!("kill -0 $(cat {}) || exit 5\n{}", background.display(), scene.tester);
    let scene = scene.tester(&alive);
    scene.run().unwrap();
    assert!(scene.store().is_done("target=a", 1), "{}", scene.failure("target=a"));
    let pid = fs::read_to_string(background).unwrap();
    assert!(!is_running(pid.trim().parse().unwrap()));
}

#[test]
fn limits_and_pin_false_are_applied() {
    let scene = Scene::one("limits = { nofile = 77, memory = '8GiB' }\npin = false\n");
    let home = scene.home.path().display().to_string();
    let script = format!(
        "p=/proc/$(ls {home}/pids | tail -1)\ngrep -E 'open files|address space' $p/limits >>{home}/log\ncat $p/cgroup >>{home}/log\n\
         grep Cpus_allowed_list $p/status >>{home}/log\n{}",
        scene.tester
    );
    let scene = scene.tester(&script);
    scene.run().unwrap();
    assert!(scene.store().is_done("target=a", 1), "{}", scene.failure("target=a"));
    let log = scene.log();
    let words: Vec<&str> = log.split_whitespace().collect();
    assert!(log.lines().any(|line| line.starts_with("Max open files") && line.contains(" 77 ")), "{log}");
    // Without control groups the limit is on address space.
    let bound = if cgroup::unsupported_reason().is_none() { " unlimited " } else { " 8589934592 " };
    assert!(log.lines().any(|line| line.starts_with("Max address space") && line.contains(bound)), "{log}");
    assert_eq!(log.contains("/brunt-"), cgroup::unsupported_reason().is_none(), "{log}");
    let all = brunt_results::Cores(Machine::here().unwrap().cores).to_string();
    assert_eq!(words.last().map(|list| list.parse::<brunt_results::Cores>().unwrap().to_string()), Some(all), "{log}");
}

#[test]
fn exceeding_the_memory_limit_fails_the_trial_with_the_reason() {
    if let Some(why) = cgroup::unsupported_reason() {
        println!("skipped: no control group can be made here: {why}");
        return;
    }
    let run = |script: &str, limit: &str| {
        let mut scene = Scene::one(&format!("limits = {{ memory = '{limit}' }}\n"));
        scene.plan = scene.plan.replace("command = [", &format!("command = ['sh', '-c', '{script}', "));
        scene.run().unwrap();
        scene
    };
    // `dd` holds one block.
    let glutton = "dd if=/dev/zero of=/dev/null bs=64M count=1 iflag=fullblock";
    let why = "the kernel killed it for taking more memory than its limit, 32MiB";
    let failure = run(&format!("exec {glutton}"), "32MiB").failure("target=a");
    assert!(failure.starts_with("the target was killed by signal 9 before it accepted a connection: "), "{failure}");
    assert!(failure.contains(why), "{failure}");

    // Without whole-group kills the target survives the loss of a process.
    let goes_on = format!("{glutton}; exec \"$0\" \"$@\"");
    let failure = run(&goes_on, "32MiB").failure("target=a");
    assert!(failure.contains(why), "{failure}");
    let scene = run(&goes_on, "256MiB");
    assert!(scene.store().is_done("target=a", 1), "{}", scene.failure("target=a"));
}

#[test]
fn placeholders_in_tester_words_are_replaced() {
    let mut scene = Scene::one("");
    scene.plan = scene.plan.replace("[[target]]", "[testers]\nbrunt = ['--header', 'X: {connections}']\n[[target]]");
    let scene = scene.tester(&format!("echo \"$@\" | tail -c 60 >&2\n{FIND_OUT}exit 1"));
    scene.run().unwrap();
    let log = scene.failure("target=a");
    assert!(log.ends_with("--header X: 4"), "{log}");
}
