//! Lateness of sleeps, and restoring the thread's timer slack.

use crate::shared::{backends, build, nth_backend};
use brunt_runtime::BackendKind;
use brunt_runtime::time::{Interval, interval, sleep};
use brunt_testkit::alone;
use rustix::thread::{current_timer_slack, set_current_timer_slack};
use std::num::NonZeroU64;
use std::time::{Duration, Instant};

#[test]
fn timer_slack_is_set_inside_and_restored_outside() {
    let _turn = alone();
    // Timer slack is per thread.
    std::thread::spawn(|| {
        let [outer, inner] = [0, 1].map(nth_backend).map(build);
        let mine = NonZeroU64::new(123_456);
        set_current_timer_slack(mine).unwrap();
        let slack = || NonZeroU64::new(current_timer_slack().unwrap());
        outer.block_on(async {
            assert_eq!(slack(), NonZeroU64::new(1));
            inner.block_on(async { assert_eq!(slack(), NonZeroU64::new(1)) });
            assert_eq!(slack(), NonZeroU64::new(1));
        });
        assert_eq!(slack(), mine);
        let panic = std::panic::catch_unwind(|| build(BackendKind::Epoll).block_on(async { panic!("on purpose") }));
        let ended: Result<(), _> = panic;
        assert!(ended.is_err());
        assert_eq!(slack(), mine);
    })
    .join()
    .unwrap();
}

/// `cargo test --release -p brunt-runtime --test timing lateness_of_sleeps -- --ignored --nocapture`
#[test]
#[ignore = "a measurement"]
fn lateness_of_sleeps() {
    let _turn = alone();
    for (period, times) in [(Duration::from_millis(1), 2000), (Duration::from_secs(1), 5)] {
        for backend in backends() {
            for slack in [50_000, 1] {
                build(backend).block_on(async {
                    set_current_timer_slack(NonZeroU64::new(slack)).unwrap();
                    let mut late = Vec::new();
                    for _ in 0..times {
                        let start = Instant::now();
                        sleep(period).await;
                        late.push(start.elapsed() - period);
                    }
                    late.sort();
                    let at = |part: f64| late[((late.len() - 1) as f64 * part) as usize];
                    println!(
                        "{backend}, {times} sleeps of {period:?}, slack {slack} ns: median {:?} late, p99 {:?}",
                        at(0.5),
                        at(0.99)
                    );
                });
            }
        }
    }
}

#[test]
fn no_sleep_ends_early_and_ticks_keep_their_phase() {
    let _turn = alone();
    for backend in backends() {
        build(backend).block_on(async {
            let mut ticks: Interval = interval(Duration::from_micros(500));
            let first = ticks.tick().await;
            for _ in 0..100 {
                let due = ticks.tick().await;
                assert!(Instant::now() >= due, "{backend}: a tick came early");
                assert_eq!((due - first).as_nanos() % 500_000, 0, "{backend}: the phase has shifted");
                let begun = Instant::now();
                sleep(Duration::from_nanos(70_001)).await;
                assert!(begun.elapsed() >= Duration::from_nanos(70_001), "{backend}: a sleep ended early");
            }
        });
    }
}
