//! What makes the load of slices: one set of connections for each target, which idles until it is asked for a slice.

use super::account::TargetAccount;
use brunt_results::result::Load;
use brunt_results::slice::{Measured, SliceSpec};

/// Opens connection sets; implemented by the generator of this program.
pub trait Generator: std::fmt::Debug {
    /// Opens all connections of one target and waits for them. `words` are arguments of `brunt load`, the URL first; those on
    /// length, warm-up and output have no effect. The error is one line.
    fn open(&self, words: &[String]) -> Result<Box<dyn ConnectionSet>, String>;

    /// The account of the server that a load of these words meters; `None` if it cannot be had. For targets of other machines.
    fn account(&self, _: &[String]) -> Option<Box<dyn TargetAccount>> {
        None
    }
}

/// The open connections to one target. Dropped, it closes them.
pub trait ConnectionSet {
    /// Makes load for lead and window, then waits until every request has its reply or has timed out. The error, one line,
    /// ends the experiment: the load cannot be made at all.
    fn slice(&mut self, spec: &SliceSpec) -> Result<Measured, String>;

    /// Changes the rate of the following slices, in requests a second over all connections. The error is one line: the
    /// connections were not opened with a rate, or it cannot be kept.
    fn set_rate(&mut self, per_second: f64) -> Result<(), String>;

    /// Kernel ids of the threads that make the load.
    fn threads(&self) -> &[u32];

    /// Name of the protocol and connections asked for, as results have them.
    fn load(&self) -> &Load;
}
