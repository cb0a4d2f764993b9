//! The provided buffers: the kernel takes one for each receive, the loop returns it when its bytes have been sent.
//! It must never hand out a buffer itself, nor know what is in one.

use std::{
    alloc::{Layout, alloc_zeroed, handle_alloc_error},
    io,
    sync::atomic::{AtomicU16, Ordering},
};

use io_uring::{Submitter, types::BufRingEntry};

/// Buffers of a ring at most; a power of two, as the kernel demands.
const MOST: u16 = 4096;

/// Bytes reserved for the buffers of a ring at most, unless that is fewer than `LEAST` buffers. Those never provided use none.
const RESERVED: usize = 512 << 20;

/// Bytes of the buffers provided at first: the kernel takes buffers in turn, so all of them should fit into the caches.
const FIRST: usize = 8 << 20;

/// Buffers of a ring at least, however long they are.
const LEAST: u16 = 16;

/// Connections for each buffer at most: with more, too many receives find none.
const CONNECTIONS: usize = 8;

/// The group that receives name.
pub const GROUP: u16 = 0;

/// One ring of buffers. Its memory is never freed: the kernel may write into it until the process ends.
pub struct Buffers {
    ring: *mut BufRingEntry,
    data: *mut u8,
    size: usize,
    /// Entries of the ring, and the buffers there is room for.
    count: u16,
    /// Those that the kernel has had.
    provided: u16,
    tail: u16,
    free: u16,
}

impl Buffers {
    /// Reserves buffers of `size` bytes, still unknown to the kernel.
    pub fn new(size: usize) -> Self {
        let count = power_of_two(RESERVED / size);
        let pages = |bytes: usize| {
            let layout = Layout::from_size_align(bytes, 4096).expect("a few GiB at most");
            // SAFETY: not empty: there are entries, and a buffer has at least one byte.
            let memory = unsafe { alloc_zeroed(layout) };
            if memory.is_null() {
                handle_alloc_error(layout)
            } else {
                memory
            }
        };
        let ring = pages(usize::from(count) * size_of::<BufRingEntry>()).cast();
        let data = pages(usize::from(count) * size);
        Self {
            ring,
            data,
            size,
            count,
            provided: 0,
            tail: 0,
            free: 0,
        }
    }

    /// Tells the kernel about the ring and provides the first buffers.
    pub fn register(&mut self, submitter: &Submitter<'_>) -> io::Result<()> {
        // SAFETY: `ring` is page-aligned, has `count` entries, and is never freed.
        unsafe { submitter.register_buf_ring_with_flags(self.ring as u64, self.count, GROUP, 0)? };
        self.provide(power_of_two(FIRST / self.size));
        Ok(())
    }

    /// Provides as many buffers as this number of connections needs.
    pub fn hold(&mut self, connections: usize) {
        while self.provided < self.count && connections > CONNECTIONS * usize::from(self.provided) {
            self.provide(2 * self.provided);
        }
    }

    /// Provides the first `many` buffers, without those that are.
    fn provide(&mut self, many: u16) {
        let more = self.provided..many.min(self.count);
        self.provided = more.end;
        more.for_each(|id| self.recycle(id));
    }

    /// Notes that the kernel has used a buffer.
    pub fn taken(&mut self) {
        self.free -= 1;
    }

    /// Has the kernel a buffer to receive into?
    pub fn any_free(&self) -> bool {
        self.free > 0
    }

    /// Where buffer `id` begins.
    pub fn address(&self, id: u16) -> *const u8 {
        assert!(id < self.count);
        // SAFETY: in bounds, by the assertion and the size of the allocation.
        unsafe { self.data.add(usize::from(id) * self.size) }
    }

    /// Gives buffer `id` back to the kernel.
    pub fn recycle(&mut self, id: u16) {
        let address = self.address(id) as u64;
        // SAFETY: the index is below `count`; the kernel does not read this entry before the tail passes it; the
        // setters leave the first entry's reserved field alone, which is the tail.
        unsafe {
            let entry = &mut *self.ring.add(usize::from(self.tail % self.count));
            entry.set_addr(address);
            entry.set_len(self.size as u32);
            entry.set_bid(id);
        }
        self.tail = self.tail.wrapping_add(1);
        self.free += 1;
        // SAFETY: the tail is an aligned u16 inside the ring. Release orders it after the entry, for the kernel.
        unsafe { AtomicU16::from_ptr(BufRingEntry::tail(self.ring).cast_mut()) }.store(self.tail, Ordering::Release);
    }
}

/// The greatest power of two that is at most `number`, within the bounds of a ring.
fn power_of_two(number: usize) -> u16 {
    let number = number.clamp(usize::from(LEAST), usize::from(MOST));
    1 << number.ilog2()
}
