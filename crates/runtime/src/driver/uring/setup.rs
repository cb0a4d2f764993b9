//! Setting up a ring by trying: the wanted flags first, then without what is optional.

use super::features::{Feature, Features};
use io_uring::{IoUring, Probe, opcode};
use std::io;

const SUBMISSIONS: u32 = 1024;
/// Room for bursts: multishot requests complete many times for one submission.
const COMPLETIONS: u32 = 8 * SUBMISSIONS;

/// A ring with deferred task work, proven by one request that goes through it.
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
