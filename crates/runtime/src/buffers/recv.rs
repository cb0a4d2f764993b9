//! The worker's receive buffers: one mapping of equal blocks, shared by all connections, and the segments in them.
//!
//! By number: the usual ones, the large ones (each as many blocks in a row, named by its first), the spares.
//!
//! No connection owns a buffer while it is idle. A received segment occupies one buffer from its arrival until the reader
//! has copied it or dropped its lease. Memory is reserved at once and touched only as buffers are first given out.

use std::{
    io,
    ptr::{self, NonNull},
};

/// Bytes of one buffer. Small, because the hot set must stay in the first cache levels.
pub(crate) const BUFFER_SIZE: usize = 4096;
/// Entries of the kernel's buffer ring; a power of two, as it wants.
pub(crate) const RING: u16 = 2048;
/// Spare buffers handed out at a time, when slow readers and peers hold all others.
pub(crate) const SPARES_AT_ONCE: u16 = 64;
/// The usual buffers of a worker at most. They and the spares of one time fit into the ring together.
pub(crate) const BUFFERS: u16 = RING - SPARES_AT_ONCE;
/// Blocks of one large buffer: what comes in long messages comes in fewer pieces.
const LARGE_BLOCKS: u16 = 8;
/// Bytes of one large buffer.
pub(crate) const LARGE_SIZE: usize = BUFFER_SIZE * LARGE_BLOCKS as usize;
/// Large buffers of a worker at most, 4 MiB, and entries of the kernel's ring of them.
pub(crate) const LARGE_RING: u16 = 128;
/// Large buffers given out when the first connection wants one; more follow when they run out.
const LARGE_FIRST: u16 = 32;
/// The first spare.
pub(crate) const SPARES: u16 = BUFFERS + LARGE_RING * LARGE_BLOCKS;
/// All buffers, spares included: what slow readers and peers can make a worker hold at most, 256 MiB. Few in unit tests,
/// which want to see the end of them.
const ALL: u16 = if cfg!(test) { SPARES + 1088 } else { NO_BUFFER };
const BYTES: usize = BUFFER_SIZE * ALL as usize;
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

impl Segment {
    const EMPTY: Self = Self { next: NO_BUFFER, offset: 0, len: 0 };
}

pub(crate) struct Buffers {
    base: NonNull<u8>,
    segments: Vec<Segment>,
    given_out: u16,
    large_given_out: u16,
    /// Spares that are at home, all of them below `next_spare`, which no one has seen yet.
    spares: Vec<u16>,
    next_spare: u16,
    /// Leases alive in user hands: while there are any the mapping must stay.
    pub leased: u32,
}

impl Buffers {
    pub fn new() -> io::Result<Self> {
        use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};
        // SAFETY: a fresh anonymous mapping at an address of the kernel's choice aliases nothing.
        let base = unsafe {
            mmap_anonymous(
                ptr::null_mut(),
                BYTES,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::PRIVATE | MapFlags::NORESERVE,
            )?
        };
        let base = NonNull::new(base.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self {
            base,
            segments: Vec::new(),
            given_out: 0,
            large_given_out: 0,
            spares: Vec::new(),
            next_spare: SPARES,
            leased: 0,
        })
    }

    /// The next buffers never given out before, for the driver to publish; empty at the cap.
    pub fn more(&mut self) -> std::ops::Range<u16> {
        let first = self.given_out;
        self.given_out = (first.max(FIRST / 2) * 2).min(BUFFERS);
        self.know(self.given_out);
        first..self.given_out
    }

    /// The next large buffers never given out before; none at the cap.
    pub fn more_large(&mut self) -> impl ExactSizeIterator<Item = u16> + use<> {
        let first = self.large_given_out;
        self.large_given_out = (first.max(LARGE_FIRST / 2) * 2).min(LARGE_RING);
        self.know(BUFFERS + self.large_given_out * LARGE_BLOCKS);
        let number = |nth: u16| BUFFERS + nth * LARGE_BLOCKS;
        (number(first)..number(self.large_given_out)).step_by(usize::from(LARGE_BLOCKS))
    }

    /// A buffer beyond the usual ones, for one use; none when all are out.
    pub fn take_spare(&mut self) -> Option<u16> {
        if let Some(spare) = self.spares.pop() {
            return Some(spare);
        }
        let spare = (self.next_spare < ALL).then_some(self.next_spare)?;
        self.next_spare += 1;
        self.know(self.next_spare);
        Some(spare)
    }

    /// Makes room for what is in the first `many` buffers.
    fn know(&mut self, many: u16) {
        let many = self.segments.len().max(usize::from(many));
        self.segments.resize(many, Segment::EMPTY);
    }

    /// A spare has come home. When all have, their memory goes back to the system.
    pub fn put_spare(&mut self, spare: u16) {
        self.spares.push(spare);
        if self.spares_out() == 0 {
            let bytes = BUFFER_SIZE * self.spares.len();
            // SAFETY: the spares lie one after another, and nobody refers to any of them.
            let _ = unsafe {
                rustix::mm::madvise(self.address(SPARES).as_ptr().cast(), bytes, rustix::mm::Advice::LinuxDontNeed)
            };
            self.spares = Vec::new();
            self.next_spare = SPARES;
        }
    }

    /// Spares handed out and not yet home.
    pub fn spares_out(&self) -> u16 {
        self.next_spare - SPARES - self.spares.len() as u16
    }

    /// Start of a buffer.
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
}

impl Drop for Buffers {
    fn drop(&mut self) {
        // A lease that outlives its runtime keeps the bytes it points to: the mapping is leaked rather than pulled away.
        if self.leased == 0 {
            // SAFETY: the mapping was made in `new` with this length; no lease and, the ring being closed, no kernel
            // request refers to it any more.
            let _ = unsafe { rustix::mm::munmap(self.base.as_ptr().cast(), BYTES) };
        }
    }
}

#[cfg(test)]
impl Buffers {
    /// All that were ever given out and have not been forgotten since.
    pub fn known(&self) -> impl Iterator<Item = u16> {
        let large = (0..self.large_given_out).map(|nth| BUFFERS + nth * LARGE_BLOCKS);
        (0..self.given_out).chain(large).chain(SPARES..self.next_spare)
    }

    pub fn spares_at_home(&self) -> &[u16] {
        &self.spares
    }

    pub fn all_are_out(&self) -> bool {
        self.given_out == BUFFERS && self.next_spare == ALL && self.spares.is_empty()
    }
}
