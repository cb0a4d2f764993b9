//! Interface of run observers: metering windows, additions to the series, progress, stop requests.

use brunt_results::{counts::Counts, series::Second};
use hdrhistogram::Histogram;

/// Called on the thread that called [`crate::run`], never on a load thread, so it may be slow without effect on the load.
pub trait Observer {
    /// Connections open so far, and all of them. Called a few times a second until the load begins.
    fn connecting(&mut self, _opened: u64, _of: u64) {}
    /// The warm-up is about to start. Passes the kernel ids of the load threads.
    fn started(&mut self, _threads: &[u32]) {}
    /// The measured window has just opened.
    fn window_opened(&mut self) {}
    /// A second, of the warm-up or the window, is complete. May fill in more fields.
    fn second(&mut self, _second: &mut Second) {}
    /// The fields of a second are final; passes the response times in it, in nanoseconds. Called once for each second of the
    /// report, in order; after the load for those that not all load threads have completed.
    fn recorded(&mut self, _second: &Second, _response: &Histogram<u64>) {}
    /// An interval of [`crate::Options::counts`] is over.
    fn counts(&mut self, _counts: &Counts) {}
    /// The measured window has just closed; connections are still open and the target is still running.
    fn window_closed(&mut self) {}
    /// Polled a few times a second; true ends the run early and keeps what was measured.
    fn wants_stop(&self) -> bool {
        false
    }
}

#[derive(Debug, Default)]
pub struct Silent;

impl Observer for Silent {}
