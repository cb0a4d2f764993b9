//! Waits for a core, of threads that share one.

use brunt_meter::run_queue::RunQueue;
use brunt_testkit::alone;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::thread;
use std::time::{Duration, Instant};

#[test]
fn threads_that_share_a_core_wait_for_each_other() {
    let _turn = alone();
    let mut waits = RunQueue::default();
    assert_eq!(waits.longest(&[]), None);
    let own = [std::process::id()];
    let allowed = sched_getaffinity(None).unwrap();
    let core = (0..CpuSet::MAX_CPU).find(|core| allowed.is_set(*core)).unwrap();
    let end = Instant::now() + Duration::from_secs(3);
    let burn = move || {
        let mut set = CpuSet::new();
        set.set(core);
        sched_setaffinity(None, &set).unwrap();
        while Instant::now() < end {}
    };
    let threads: Vec<_> = (0..2).map(|_| thread::spawn(burn)).collect();
    thread::sleep(Duration::from_millis(500));
    if waits.longest(&own).is_none() {
        return println!("skipped: this kernel does not account for waits");
    }
    thread::sleep(Duration::from_secs(2));
    // Each has half of the core.
    let waited = waits.longest(&own).unwrap();
    assert!(waited > Duration::from_millis(500), "{waited:?}");
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}
