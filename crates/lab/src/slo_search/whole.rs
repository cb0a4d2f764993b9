//! Whole loads of a search, one after another.

use crate::system::process_registry::ProcessRegistry;
use brunt_results::{Error, RunResult};
use std::path::Path;
use std::sync::{Arc, atomic::AtomicBool};
use std::time::Duration;

/// Makes whole loads.
pub(super) trait WholeLoads {
    /// Runs one load; `None` if it was interrupted.
    fn load(
        &self,
        load: &WholeLoad,
        ledger: &Arc<ProcessRegistry>,
        stop: &AtomicBool,
    ) -> Result<Option<RunResult>, Error>;
}

/// One of them.
pub(super) struct WholeLoad<'a> {
    /// Counted from 1.
    pub(super) number: usize,
    pub(super) rate: f64,
    pub(super) window: Duration,
    pub(super) seed: u64,
    pub(super) dir: &'a Path,
}
