//! A group of workers of which one cannot be set up: nobody runs, and nobody waits for it.

use brunt_runtime::Runtime;
use std::sync::atomic::{AtomicU32, Ordering};

#[test]
fn a_group_is_whole_or_not_at_all() {
    for cores in [[None, Some(1000)], [Some(1000), None]] {
        let ran = AtomicU32::new(0);
        let results = brunt_runtime::group::run(&Runtime::builder(), &cores, |_| {
            ran.fetch_add(1, Ordering::SeqCst);
            // A worker that waits for its siblings must not wait for one that was never set up.
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
