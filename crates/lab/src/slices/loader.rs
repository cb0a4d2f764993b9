//! What loads one target, slice by slice: connections that stay open, or a run of an external tester for each slice.

use super::{ConnectionSet, Measured, SliceSpec};
use brunt_results::latency::MAX_LATENCY_NS;
use brunt_results::result::Load;
use brunt_results::{LatencySummary, hlog::encode};
use brunt_slices::Slice;
use hdrhistogram::Histogram;

/// Why there is no slice, in one line.
#[derive(Debug)]
pub enum SliceError {
    /// No load can be made at all.
    Experiment(String),
    /// None on this target.
    Target(String),
}

/// Makes the slices of one target.
pub trait Loader {
    /// Makes load for lead and window. The slice has what the generator knows; figures of the target, of the machine and of its
    /// place among the others are still missing.
    fn slice(&mut self, spec: &SliceSpec) -> Result<Slice, SliceError>;

    /// Changes the rate of the following slices, in requests a second over all connections; the error is one line.
    fn set_rate(&mut self, per_second: f64) -> Result<(), String> {
        Err(format!("{per_second} requests/s: this tester keeps the rate that it was started with"))
    }

    /// Kernel ids of the threads that make the load; none where each slice has its own.
    fn threads(&self) -> &[u32];

    /// Name of the protocol and connections asked for, as results have them.
    fn load(&self) -> &Load;

    /// Whether each slice is a run of a program that opens connections of its own.
    fn starts_anew(&self) -> bool {
        false
    }
}

impl Loader for Box<dyn ConnectionSet> {
    fn slice(&mut self, spec: &SliceSpec) -> Result<Slice, SliceError> {
        self.as_mut().slice(spec).map(slice).map_err(SliceError::Experiment)
    }

    fn set_rate(&mut self, per_second: f64) -> Result<(), String> {
        self.as_mut().set_rate(per_second)
    }

    fn threads(&self) -> &[u32] {
        self.as_ref().threads()
    }

    fn load(&self) -> &Load {
        self.as_ref().load()
    }
}

fn slice(measured: Measured) -> Slice {
    Slice {
        window_us: measured.window.as_micros() as u64,
        busy_us: measured.busy.as_micros() as u64,
        completed: measured.completed,
        replies: measured.replies,
        failed: measured.failed,
        unanswered: measured.unanswered,
        abandoned: measured.abandoned,
        waited: measured.waited,
        errors: measured.errors,
        generator_cpu_us: measured.cpu.as_secs_f64() * 1e6,
        generator_percent: measured.busiest_percent,
        sent_bytes: measured.sent_bytes,
        received_bytes: measured.received_bytes,
        statuses: measured.statuses,
        latency: LatencySummary::censored(&[], &measured.response, Some(&measured.censored)),
        response: coarse(&measured.response),
        censored: (!measured.censored.is_empty()).then(|| coarse(&measured.censored)),
        service: measured.service.as_ref().map(coarse),
        sends: measured.sends,
        lag: measured.lag.as_ref().map(coarse),
        ..Slice::default()
    }
}

/// The histogram with two significant digits, as text: a few hundred bytes.
fn coarse(histogram: &Histogram<u64>) -> String {
    let mut coarse = Histogram::new_with_bounds(1, MAX_LATENCY_NS, 2).expect("the bounds are constants it accepts");
    coarse.add(histogram).expect("both have the same range");
    encode(&coarse)
}
