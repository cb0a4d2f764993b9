//! Setting up a ring by trying: the wanted flags first, then without what is optional.

use super::GROUP;
use crate::buffers::RING;
use io_uring::{IoUring, opcode, types::BufRingEntry};
use std::{io, ptr::NonNull};

const SUBMISSIONS: u32 = 1024;
/// Room for bursts: multishot requests complete many times for one submission.
const COMPLETIONS: u32 = 8 * SUBMISSIONS;
const BUFFER_RING_BYTES: usize = RING as usize * size_of::<BufRingEntry>();

/// A ring with deferred task work, proven by one request that goes through it.
pub(super) fn ring() -> io::Result<IoUring> {
    let mut ring = build(true).or_else(|error| match error.raw_os_error() {
        // Linux before 6.6 does not know NO_SQARRAY and refuses what it does not know.
        Some(libc::EINVAL) => build(false),
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
    // One descriptor lookup less in every enter; a kernel that lacks it changes nothing.
    let _ = ring.submitter().register_ring_fd();
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

/// Maps the ring of provided buffers and registers it.
pub(super) fn buffer_ring(ring: &IoUring) -> io::Result<NonNull<BufRingEntry>> {
    use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};
    // SAFETY: a fresh anonymous mapping at an address of the kernel's choice aliases nothing.
    let base = unsafe {
        mmap_anonymous(std::ptr::null_mut(), BUFFER_RING_BYTES, ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE)?
    };
    let base: NonNull<BufRingEntry> = NonNull::new(base.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
    // SAFETY: the mapping is page-aligned, has room for RING entries and stays until `free_buffer_ring`, which the
    // owner calls only after unregistering it.
    let registered = unsafe { ring.submitter().register_buf_ring_with_flags(base.as_ptr() as u64, RING, GROUP, 0) };
    registered.inspect_err(|_| free_buffer_ring(base))?;
    Ok(base)
}

/// Unmaps what `buffer_ring` mapped.
pub(super) fn free_buffer_ring(base: NonNull<BufRingEntry>) {
    // SAFETY: mapped in `buffer_ring` with this length, and no longer registered with any ring.
    let _ = unsafe { rustix::mm::munmap(base.as_ptr().cast(), BUFFER_RING_BYTES) };
}
