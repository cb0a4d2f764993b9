//! A received piece of data, still in the runtime's buffer.

use crate::{buffers::recv::NO_BUFFER, executor, io::Received};
use std::{
    fmt,
    ops::{Deref, DerefMut},
    ptr::NonNull,
};

/// Bytes received from a stream, lent by the runtime: no copy was made. Dropping it gives the buffer back; a worker has
/// some thousand of them, so keep a lease for the length of a request and copy what must live longer.
///
/// An empty lease is the end of the stream.
pub struct RecvBuf {
    start: NonNull<u8>,
    len: u32,
    buffer: u16,
    worker: u16,
}

impl RecvBuf {
    pub(crate) fn new(worker: u16, received: Received) -> Self {
        Self { start: received.start, len: received.len, buffer: received.buffer, worker }
    }

    pub(crate) fn end_of_stream() -> Self {
        Self { start: NonNull::dangling(), len: 0, buffer: NO_BUFFER, worker: 0 }
    }

    /// The buffer, where its data begins, and how much there is.
    #[inline]
    pub(crate) fn part(&self) -> (u16, NonNull<u8>, u32) {
        (self.buffer, self.start, self.len)
    }

    /// The worker it belongs to; `None` for the end of the stream.
    #[inline]
    pub(crate) fn worker(&self) -> Option<u16> {
        (self.buffer != NO_BUFFER).then_some(self.worker)
    }
}

impl Deref for RecvBuf {
    type Target = [u8];
    #[inline]
    fn deref(&self) -> &[u8] {
        // SAFETY: the buffer is filled from `start` for `len` bytes and is this lease's alone; its mapping outlives every
        // lease (see `Buffers::drop`). An empty lease points nowhere and has no length.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len as usize) }
    }
}

impl DerefMut for RecvBuf {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `deref`; the kernel has done with the buffer, so the only way to its bytes is this lease.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len as usize) }
    }
}

impl Drop for RecvBuf {
    #[inline(always)]
    fn drop(&mut self) {
        if self.buffer != NO_BUFFER {
            executor::with(self.worker, |worker| worker.io().end_lease(self.buffer));
        }
    }
}

impl fmt::Debug for RecvBuf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecvBuf").field("len", &self.len).finish_non_exhaustive()
    }
}
