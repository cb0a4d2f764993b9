//! What only the scheduler shows of a verdict: other programs on the cores of the generator.

use crate::shared::target::{Target, json, load};
use brunt_testkit::{Running, alone, text, until};
use std::process::Command;
use std::time::Duration;

#[test]
fn disturbed_by_another_program_on_the_generators_core() {
    let _alone = alone();
    let target = Target::start();
    let core = first_core();
    let hogs = [hog(&core), hog(&core)];
    let used = |hog: &Running| brunt_meter::process::cpu_of(hog.pid()).unwrap();
    until("both loops share the core", || hogs.iter().all(|hog| used(hog) >= Duration::from_millis(100)));
    let flags = format!("-c 20 -d 1s --warmup 200ms --cores {core} --json - --quiet");
    let output = load(&target.url(), &flags).output().unwrap();
    if json(&output)["generator"]["run_queue_wait_percent"].is_null() {
        println!("skipped: the kernel keeps no account of waiting for a core");
        return;
    }
    let why = json(&output)["verdict"]["why"].to_string();
    assert!(why.contains("a thread of the generator was runnable without a core"), "{}", text(&output));
}

/// The first core that this process may use.
fn first_core() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap();
    list.trim().split([',', '-']).next().unwrap().to_owned()
}

/// A busy loop on one core, killed at the end of the test.
fn hog(core: &str) -> Running {
    Running::start(Command::new("taskset").args(["-c", core, "sh", "-c", "while :; do :; done"]))
}
