//! Waits for a core, of threads that share one.

use brunt_meter::run_queue::RunQueue;
use brunt_testkit::{alone, until};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The longest wait of any thread of this process so far, by the account of the kernel.
fn waits() -> Vec<Duration> {
    let of = |thread: fs::DirEntry| {
        let text = fs::read_to_string(thread.path().join("schedstat")).ok()?;
        text.split(' ').nth(1)?.parse().ok().map(Duration::from_nanos)
    };
    fs::read_dir("/proc/self/task").unwrap().flatten().filter_map(of).collect()
}

#[test]
fn threads_that_share_a_core_wait_for_each_other() {
    let _turn = alone();
    let mut queue = RunQueue::default();
    assert_eq!(queue.longest(&[]), None);
    let own = [std::process::id()];
    let allowed = sched_getaffinity(None).unwrap();
    let core = (0..CpuSet::MAX_CPU).find(|core| allowed.is_set(*core)).unwrap();
    let stop = AtomicBool::new(false);
    let burn = || {
        let mut set = CpuSet::new();
        set.set(core);
        sched_setaffinity(None, &set).unwrap();
        while !stop.load(Ordering::Relaxed) {
            std::hint::spin_loop();
        }
    };
    std::thread::scope(|scope| {
        (0..2).for_each(|_| _ = scope.spawn(burn));
        // Both have begun, as they wait for each other.
        let is_shared = || waits().iter().filter(|wait| **wait >= Duration::from_millis(20)).count() >= 2;
        until("they share the core", is_shared);
        let is_known = queue.longest(&own).is_some();
        let longest = || waits().into_iter().max().unwrap();
        let before = longest();
        until("one has waited", || longest() - before >= Duration::from_millis(200));
        // A wait counts in full when it ends.
        let waited = queue.longest(&own);
        stop.store(true, Ordering::Relaxed);
        match waited.filter(|_| is_known) {
            Some(waited) => assert!(waited >= Duration::from_millis(200), "{waited:?}"),
            None => println!("skipped: this kernel does not account for waits"),
        }
    });
}
