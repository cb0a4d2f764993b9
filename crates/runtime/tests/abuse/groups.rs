//! A group with a worker that cannot be set up: no body runs, and no worker hangs.

use brunt_runtime::Runtime;
use std::sync::atomic::{AtomicU32, Ordering};

#[test]
fn a_group_runs_completely_or_not_at_all() {
    for cores in [[None, Some(1000)], [Some(1000), None]] {
        let ran = AtomicU32::new(0);
        let results = brunt_runtime::group::run(&Runtime::builder(), &cores, |_| {
            ran.fetch_add(1, Ordering::SeqCst);
            // The other workers must not wait for the one that failed.
            std::future::pending::<()>()
        });
        assert_eq!(results.len(), 2);
        for result in results {
            let error = result.unwrap_err().to_string();
            assert!(error.contains("core 1000") && error.contains("this process may use core"), "{error}");
        }
        assert_eq!(ran.into_inner(), 0);
    }
}
