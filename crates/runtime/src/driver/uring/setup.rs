//! Setting up a ring, and its optional features: detected by trying or from the flags the kernel reports, never by its version.

use io_uring::{IoUring, Probe, opcode};
use std::io;

/// One optional feature of io_uring, and whether the runtime uses it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RingFeature {
    /// Its name for [`Builder::without_ring_features`](crate::Builder::without_ring_features).
    pub name: &'static str,
    /// The Linux version that introduced it.
    pub since: &'static str,
    /// Its benefit.
    pub gives: &'static str,
    /// Why it is not used; `None` if it is used.
    pub missing: Option<&'static str>,
}

/// All features: name, Linux version, benefit.
const ALL: [(Feature, &str, &str, &str); 4] = [
    (Feature::NoSqArray, "no-sqarray", "6.6", "one array less to write a request"),
    (Feature::RegisteredRing, "registered-ring", "5.18", "one descriptor lookup less an enter"),
    (
        Feature::NoIowait,
        "no-iowait",
        "6.15",
        "a core that waits for the network counts as idle, not as waiting for a disk",
    ),
    (Feature::RingMessage, "ring-message", "5.18", "a worker wakes another without an eventfd"),
];
const KERNEL: &str = "not in this kernel";
const LEFT_OUT: &str = "left out by request";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Feature {
    NoSqArray,
    RegisteredRing,
    NoIowait,
    RingMessage,
}

/// The features of one ring: why each is missing, if it is.
#[derive(Debug, Clone, Default)]
pub(crate) struct Features([Option<&'static str>; ALL.len()]);

impl Features {
    /// All features but those named, separated by commas, or `plain` for all. Errors name the `source` of the list.
    pub fn without(names: &str, source: &str) -> io::Result<Self> {
        let mut features = Self([None; ALL.len()]);
        for name in names.split(',').map(str::trim).filter(|name| !name.is_empty()) {
            let named = || ALL.iter().filter(|(_, known, ..)| name == *known || name == "plain");
            named().for_each(|(feature, ..)| features.0[*feature as usize] = Some(LEFT_OUT));
            if named().next().is_none() {
                let known = ALL.map(|(_, known, ..)| known).join(", ");
                let message =
                    format!("{source} leaves out '{name}'; it can leave out {known}, or plain for all of them");
                return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
            }
        }
        Ok(features)
    }

    pub fn has(&self, feature: Feature) -> bool {
        self.0[feature as usize].is_none()
    }

    pub fn miss(&mut self, feature: Feature) {
        self.0[feature as usize].get_or_insert(KERNEL);
    }

    pub fn report(&self) -> Vec<RingFeature> {
        let report = |(feature, name, since, gives)| {
            let missing = self.0[feature as usize];
            RingFeature { name, since, gives, missing }
        };
        ALL.into_iter().map(report).collect()
    }
}

const SUBMISSIONS: u32 = 1024;
/// Room for bursts: multishot requests complete many times for one submission.
const COMPLETIONS: u32 = 8 * SUBMISSIONS;

/// A ring with deferred task work, proven by one request that goes through it. Optional flags are left out if refused.
pub(super) fn ring(features: &mut Features) -> io::Result<IoUring> {
    let mut ring = build(features.has(Feature::NoSqArray)).or_else(|error| match error.raw_os_error() {
        // A kernel refuses flags it does not know.
        Some(libc::EINVAL) if features.has(Feature::NoSqArray) => {
            features.miss(Feature::NoSqArray);
            build(false)
        }
        _ => Err(error),
    })?;
    if !ring.params().is_feature_ext_arg() || !ring.params().is_feature_nodrop() {
        return Err(io::Error::new(io::ErrorKind::Unsupported, "the kernel's io_uring is too old"));
    }
    // A sandbox may allow io_uring_setup and forbid io_uring_enter: find out now.
    // SAFETY: a no-op points to nothing.
    unsafe { ring.submission().push(&opcode::Nop::new().build()) }.map_err(io::Error::other)?;
    ring.submit_and_wait(1)?;
    ring.completion().next().ok_or_else(|| io::Error::other("io_uring lost a request"))?;
    if features.has(Feature::RegisteredRing) && ring.submitter().register_ring_fd().is_err() {
        features.miss(Feature::RegisteredRing);
    }
    if !ring.params().is_feature_no_iowait() {
        features.miss(Feature::NoIowait);
    }
    let mut probe = Probe::new();
    let probed = ring.submitter().register_probe(&mut probe);
    if probed.is_err() || !probe.is_supported(opcode::MsgRingData::CODE) {
        features.miss(Feature::RingMessage);
    }
    Ok(ring)
}

fn build(no_sqarray: bool) -> io::Result<IoUring> {
    let mut builder = IoUring::builder();
    builder.setup_single_issuer().setup_defer_taskrun().setup_taskrun_flag().setup_submit_all();
    builder.setup_cqsize(COMPLETIONS).setup_clamp();
    if no_sqarray {
        builder.setup_no_sqarray();
    }
    builder.build(SUBMISSIONS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_are_left_out_by_name_and_an_unknown_name_is_an_error_that_lists_them() {
        let left =
            |names| Features::without(names, "RING").map(|features| ALL.map(|(feature, ..)| features.has(feature)));
        assert_eq!(left("").unwrap(), [true; 4]);
        assert_eq!(left("plain").unwrap(), [false; 4]);
        assert_eq!(left("no-iowait, no-sqarray").unwrap(), [false, true, false, true]);
        let error = left("no-iowait,sqpoll").unwrap_err().to_string();
        assert!(error.contains("'sqpoll'") && ALL.iter().all(|(_, name, ..)| error.contains(name)), "{error}");
    }
}
