//! The receive buffers of a worker, shared by all connections: one mapping of equal blocks, and the segments in them.
//!
//! ```text
//! number: 0 .. BUFFERS   .. OVERFLOW_START  .. ALL
//!         usual          large (8 blocks)   overflow
//! ```
//! An idle connection holds no buffer. A received segment occupies one buffer from its arrival until the reader has copied
//! it or dropped its `RecvBuf`. Address space is reserved at once; memory is touched as buffers are first provided.

use crate::mm;
use rustix::mm::{Advice, madvise};
use std::{io, ops::Range, ptr::NonNull};

/// Bytes of one buffer. Small: the active set has to fit into the first cache levels.
pub(crate) const BUFFER_SIZE: usize = 4096;
/// Entries of the kernel's buffer ring; a power of two.
pub(crate) const RING: u16 = 2048;
/// Overflow buffers added at a time when all others are held by slow readers or peers.
pub(crate) const OVERFLOW_BATCH: u16 = 64;
/// Usual buffers of a worker at most. With one batch of overflow buffers they fit into the ring.
pub(crate) const BUFFERS: u16 = RING - OVERFLOW_BATCH;
/// Blocks of one large buffer, which divides long messages into fewer pieces.
const LARGE_BLOCKS: u16 = 8;
pub(crate) const LARGE_SIZE: usize = BUFFER_SIZE * LARGE_BLOCKS as usize;
/// Large buffers of a worker at most (4 MiB).
const LARGE: u16 = 128;
pub(crate) const OVERFLOW_START: u16 = BUFFERS + LARGE * LARGE_BLOCKS;
/// All buffers, overflow included: at most 256 MiB a worker. Fewer in unit tests, which exhaust them.
const ALL: u16 = if cfg!(test) { OVERFLOW_START + 1088 } else { NO_BUFFER };
const BYTES: usize = BUFFER_SIZE * ALL as usize;
/// Buffers provided at the start; more follow when they run out.
const FIRST: u16 = 128;
pub(crate) const NO_BUFFER: u16 = u16::MAX;
/// Segments in an inbox at which its receive stops, so that a slow reader slows its peer instead of using more memory: as long as
/// the usual buffers are enough, while overflow buffers are in use, and when a quarter of them is. Every buffer may hold one byte, so
/// some thousand readers that are busy elsewhere would otherwise hold all of them, and all other connections would wait.
const INBOX_LIMITS: [u16; 3] = [16, 4, 1];

/// The position of a segment in its buffer, and the next segment of the same connection.
#[derive(Clone, Copy)]
pub(crate) struct Segment {
    pub next: u16,
    pub offset: u16,
    pub len: u16,
}

/// Buffers that the worker gives out itself: those that were used and are free, and from `next` on those never used.
struct Region {
    start: u16,
    next: u16,
    end: u16,
    /// From one buffer to the next.
    step: u16,
    free: Vec<u16>,
}

impl Region {
    fn new(numbers: Range<u16>, step: u16) -> Self {
        Self { start: numbers.start, next: numbers.start, end: numbers.end, step, free: Vec::new() }
    }

    fn has_free(&self) -> bool {
        !self.free.is_empty() || self.next < self.end
    }

    /// The one that was used last, so that few are used while few are needed; `None` if all are in use.
    fn take(&mut self) -> Option<u16> {
        self.free.pop().or_else(|| {
            let buffer = (self.next < self.end).then_some(self.next)?;
            self.next += self.step;
            Some(buffer)
        })
    }

    fn in_use(&self) -> u16 {
        (self.next - self.start) / self.step - self.free.len() as u16
    }
}

pub(crate) struct RecvBuffers {
    base: NonNull<u8>,
    segments: Vec<Segment>,
    provided: u16,
    large: Region,
    overflow: Region,
    /// Segments in an inbox at which its receive stops now.
    pub inbox_limit: u16,
    /// Buffers lent to the user.
    pub leased: u32,
    /// The kernel has finished with every buffer. Set by [`free_on_drop`](Self::free_on_drop).
    reaped: bool,
}

impl RecvBuffers {
    pub fn new() -> io::Result<Self> {
        Ok(Self {
            base: mm::reserve(BYTES)?,
            segments: Vec::new(),
            provided: 0,
            large: Region::new(BUFFERS..OVERFLOW_START, LARGE_BLOCKS),
            overflow: Region::new(OVERFLOW_START..ALL, 1),
            inbox_limit: INBOX_LIMITS[0],
            leased: 0,
            reaped: false,
        })
    }

    /// The next buffers never provided before; empty at the cap.
    pub fn more(&mut self) -> Range<u16> {
        let first = self.provided;
        self.provided = (first.max(FIRST / 2) * 2).min(BUFFERS);
        self.reserve_segments(self.provided);
        first..self.provided
    }

    pub fn has_free_large(&self) -> bool {
        self.large.has_free()
    }

    /// Takes a large buffer; `None` if all are in use.
    pub fn take_large(&mut self) -> Option<u16> {
        let buffer = self.large.take()?;
        self.reserve_segments(self.large.next);
        Some(buffer)
    }

    pub fn return_large(&mut self, buffer: u16) {
        self.large.free.push(buffer);
    }

    /// Takes an overflow buffer, for one use; `None` if all are in use.
    pub fn take_overflow(&mut self) -> Option<u16> {
        let buffer = self.overflow.take()?;
        self.reserve_segments(self.overflow.next);
        self.limit_inboxes();
        Some(buffer)
    }

    fn limit_inboxes(&mut self) {
        const QUARTER: u16 = (ALL - OVERFLOW_START) / 4;
        self.inbox_limit = match self.overflow_in_use() {
            0 => INBOX_LIMITS[0],
            1..QUARTER => INBOX_LIMITS[1],
            _ => INBOX_LIMITS[2],
        };
    }

    fn reserve_segments(&mut self, many: u16) {
        let many = self.segments.len().max(usize::from(many));
        self.segments.resize(many, Segment { next: NO_BUFFER, offset: 0, len: 0 });
    }

    /// Returns an overflow buffer. With the last one, their memory is returned to the system.
    pub fn return_overflow(&mut self, buffer: u16) {
        self.overflow.free.push(buffer);
        self.limit_inboxes();
        if self.overflow_in_use() == 0 {
            let (start, bytes) = (self.address(OVERFLOW_START).as_ptr().cast(), BUFFER_SIZE * self.overflow.free.len());
            // SAFETY: the overflow buffers are contiguous, and nothing refers to any of them.
            let _ = unsafe { madvise(start, bytes, Advice::LinuxDontNeed) };
            self.overflow = Region::new(OVERFLOW_START..ALL, 1);
        }
    }

    pub fn overflow_in_use(&self) -> u16 {
        self.overflow.in_use()
    }

    #[inline]
    pub fn address(&self, buffer: u16) -> NonNull<u8> {
        debug_assert!(buffer < ALL);
        // SAFETY: `buffer` is below ALL, so the result lies inside the mapping.
        unsafe { self.base.add(usize::from(buffer) * BUFFER_SIZE) }
    }

    #[inline]
    pub fn segment(&mut self, buffer: u16) -> &mut Segment {
        &mut self.segments[usize::from(buffer)]
    }

    /// Unmaps the memory on drop, unless a `RecvBuf` is alive then. Without this call the memory is leaked.
    ///
    /// # Safety
    /// Every request that names one of the buffers has completed, and none will be submitted.
    pub unsafe fn free_on_drop(&mut self) {
        self.reaped = true;
    }
}

impl Drop for RecvBuffers {
    fn drop(&mut self) {
        // Otherwise leaked: closing the ring ends no request, only a completion does, and a `RecvBuf` may outlive its runtime.
        if self.reaped && self.leased == 0 {
            // SAFETY: reserved in `new` with this length. No `RecvBuf` refers to it, and every request that did has completed.
            unsafe { mm::release(self.base, BYTES) };
        }
    }
}

#[cfg(test)]
impl RecvBuffers {
    pub fn known(&self) -> impl Iterator<Item = u16> {
        let large = (BUFFERS..self.large.next).step_by(usize::from(LARGE_BLOCKS));
        (0..self.provided).chain(large).chain(OVERFLOW_START..self.overflow.next)
    }

    pub fn free_overflow(&self) -> &[u16] {
        &self.overflow.free
    }

    pub fn large_in_use(&self) -> u16 {
        self.large.in_use()
    }

    pub fn all_are_out(&self) -> bool {
        self.provided == BUFFERS && !self.overflow.has_free()
    }
}
