//! The worker's receive buffers: one mapping of equal blocks, shared by all connections, and the segments in them.
//!
//! No connection owns a buffer while it is idle. A received segment occupies one buffer from its arrival until the reader
//! has copied it or dropped its lease. Memory is reserved at once and touched only as buffers are first given out.

use std::{
    io,
    ptr::{self, NonNull},
};

/// Bytes of one buffer. Small, because the hot set must stay in the first cache levels.
pub(crate) const BUFFER_SIZE: usize = 4096;
/// Most buffers a worker hands out; a power of two, as the kernel's buffer ring wants.
pub(crate) const BUFFERS: u16 = 2048;
/// Buffers given out at the start; more follow when the kernel runs out of them.
const FIRST: u16 = 128;
/// Marks the absence of a buffer.
pub(crate) const NO_BUFFER: u16 = u16::MAX;

/// Where one segment lies in its buffer, and which segment of the same connection follows.
#[derive(Clone, Copy)]
pub(crate) struct Segment {
    pub next: u16,
    pub offset: u16,
    pub len: u16,
}

pub(crate) struct Buffers {
    base: NonNull<u8>,
    segments: Vec<Segment>,
    given_out: u16,
    /// Leases alive in user hands: while there are any the mapping must stay.
    pub leased: u32,
}

impl Buffers {
    pub fn new() -> io::Result<Self> {
        use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};
        let len = BUFFER_SIZE * usize::from(BUFFERS);
        // SAFETY: a fresh anonymous mapping at an address of the kernel's choice aliases nothing.
        let base = unsafe {
            mmap_anonymous(
                ptr::null_mut(),
                len,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::PRIVATE | MapFlags::NORESERVE,
            )?
        };
        let base = NonNull::new(base.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { base, segments: Vec::new(), given_out: 0, leased: 0 })
    }

    /// The next buffers never given out before, for the driver to publish; empty at the cap.
    pub fn more(&mut self) -> std::ops::Range<u16> {
        let first = self.given_out;
        self.given_out = (first.max(FIRST / 2) * 2).min(BUFFERS);
        self.segments.resize(usize::from(self.given_out), Segment { next: NO_BUFFER, offset: 0, len: 0 });
        first..self.given_out
    }

    /// Start of a buffer.
    #[inline]
    pub fn address(&self, buffer: u16) -> NonNull<u8> {
        debug_assert!(buffer < BUFFERS);
        // SAFETY: `buffer` is below BUFFERS, so the result lies inside the mapping.
        unsafe { self.base.add(usize::from(buffer) * BUFFER_SIZE) }
    }

    #[inline]
    pub fn segment(&mut self, buffer: u16) -> &mut Segment {
        &mut self.segments[usize::from(buffer)]
    }
}

impl Drop for Buffers {
    fn drop(&mut self) {
        // A lease that outlives its runtime keeps the bytes it points to: the mapping is leaked rather than pulled away.
        if self.leased == 0 {
            // SAFETY: the mapping was made in `new` with this length; no lease and, the ring being closed, no kernel
            // request refers to it any more.
            let _ = unsafe { rustix::mm::munmap(self.base.as_ptr().cast(), BUFFER_SIZE * usize::from(BUFFERS)) };
        }
    }
}
