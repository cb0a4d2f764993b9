//! A received segment, still in the runtime's buffer.

use crate::{buffers::recv::NO_BUFFER, executor, io::Part};
use std::ops::{Deref, DerefMut};
use std::{fmt, ptr::NonNull};

/// Bytes received from a stream, lent without a copy. Empty at the end of the stream.
///
/// Dropping it returns the buffer. A worker has about two thousand: keep it for one request, and copy what must live longer.
pub struct RecvBuf {
    start: NonNull<u8>,
    len: u32,
    buffer: u16,
    worker: u16,
}

impl RecvBuf {
    pub(crate) fn new(worker: u16, (buffer, start, len): Part) -> Self {
        Self { start, len, buffer, worker }
    }

    pub(crate) fn end_of_stream() -> Self {
        Self { start: NonNull::dangling(), len: 0, buffer: NO_BUFFER, worker: 0 }
    }

    #[inline]
    pub(crate) fn part(&self) -> Part {
        (self.buffer, self.start, self.len)
    }

    /// The worker that owns the buffer; `None` at the end of the stream.
    #[inline]
    pub(crate) fn worker(&self) -> Option<u16> {
        (self.buffer != NO_BUFFER).then_some(self.worker)
    }
}

impl Deref for RecvBuf {
    type Target = [u8];
    #[inline]
    fn deref(&self) -> &[u8] {
        // SAFETY: the buffer is initialised from `start` for `len` bytes and lent to this value alone; its mapping outlives
        // every `RecvBuf` (see `RecvBuffers::drop`). At the end of the stream the length is 0.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len as usize) }
    }
}

impl DerefMut for RecvBuf {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `deref`; the kernel has completed the buffer, so this value is the only access to its bytes.
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
