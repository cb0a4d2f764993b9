//! Interface of run observers: metering windows, additions to each second of the series, progress, stop requests.

use brunt_results::series::Second;

/// Called on the thread that called [`crate::run`], never on a load thread, so it may be slow without being measured.
pub trait Observer {
    /// So many of all connections have been opened: told a few times a second until the load begins.
    fn connecting(&mut self, opened: u64, of: u64) {
        let _ = (opened, of);
    }
    /// Every load thread runs and is about to start its warm-up; `threads` are their kernel thread ids.
    fn started(&mut self, threads: &[u32]) {
        let _ = threads;
    }
    /// The measured window opens now.
    fn window_opened(&mut self) {}
    /// A second has passed (warm-up included): may fill in the fields it knows better.
    fn second(&mut self, second: &mut Second) {
        let _ = second;
    }
    /// The measured window closed now; connections are still open and the target is still running.
    fn window_closed(&mut self) {}
    /// Polled a few times a second; true ends the run early, keeping what was measured.
    fn wants_stop(&self) -> bool {
        false
    }
}

/// Watches nothing.
#[derive(Debug, Default)]
pub struct Silent;

impl Observer for Silent {}
