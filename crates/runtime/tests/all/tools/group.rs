//! Groups of workers that end together.

use crate::shared::backends;
use brunt_runtime::group::{self, Cause, Failure};
use brunt_runtime::time::sleep;
use brunt_runtime::{BackendKind, Builder, Runtime};
use std::future::pending;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Longer than any test runs.
const LONG: Duration = Duration::from_secs(3600);

fn builder(backend: BackendKind) -> Builder {
    Runtime::builder().backend(Some(backend))
}

fn on_each(test: impl Fn(Builder)) {
    backends().into_iter().for_each(|backend| test(builder(backend)));
}

#[test]
fn each_worker_owns_a_value_and_returns_one() {
    on_each(|builder| {
        // Values that are neither Clone nor Sync.
        let members = (0..4).map(|n| (None, std::cell::Cell::new(n))).collect();
        let outputs = group::run_together(&builder, members, LONG, async |member| {
            Ok::<_, String>(member.index * 10 + member.value.into_inner())
        });
        assert_eq!(outputs.unwrap(), [0, 11, 22, 33]);
    });
}

#[test]
fn the_first_failure_is_returned_and_the_others_are_told() {
    on_each(|builder| {
        for fails in ["error", "panic"] {
            let told = AtomicUsize::new(0);
            let members = vec![(None, false), (None, true), (None, false)];
            let failed = group::run_together(&builder, members, LONG, async |member| {
                if member.value {
                    sleep(Duration::from_millis(1)).await;
                    assert!(fails == "error", "as planned");
                    return Err("out of luck");
                }
                member.stop.cancelled().await;
                told.fetch_add(1, Ordering::Relaxed);
                // That of one that was told is not the first.
                Err("told")
            });
            let failure: Failure<_> = failed.map(|_: Vec<()>| ()).unwrap_err();
            assert_eq!((failure.worker, told.into_inner()), (Some(1), 2));
            let said = failure.to_string();
            match failure.cause {
                Cause::Error(error) => assert!(fails == "error" && error == "out of luck"),
                Cause::Panic(panic) => {
                    assert!(fails == "panic" && panic.is_panic() && said.contains("as planned"), "{said}")
                }
                Cause::Setup(error) => panic!("{error}"),
            }
        }
    });
}

#[test]
fn those_that_do_not_end_are_dropped_after_the_grace() {
    struct Counts<'a>(&'a AtomicUsize);
    impl Drop for Counts<'_> {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    on_each(|builder| {
        let dropped = AtomicUsize::new(0);
        let members = vec![(None, Counts(&dropped)), (None, Counts(&dropped))];
        let failed = group::run_together(&builder, members, Duration::ZERO, async |member| {
            let _held = member.value;
            if member.index == 0 {
                return Err("out of luck");
            }
            pending::<Result<(), &str>>().await
        });
        assert_eq!((failed.unwrap_err().worker, dropped.into_inner()), (Some(0), 2));
    });
}

#[test]
fn a_group_that_cannot_be_set_up_runs_no_worker() {
    on_each(|builder| {
        let failed = group::run_together(
            &builder,
            vec![(None, ()), (Some(100_000), ())],
            LONG,
            async |_| -> Result<(), String> { panic!("it runs") },
        );
        let failure = failed.unwrap_err();
        assert!(failure.worker.is_none() && matches!(&failure.cause, Cause::Setup(_)), "{failure}");
        assert!(failure.to_string().contains("core 100000"), "{failure}");
    });
}
