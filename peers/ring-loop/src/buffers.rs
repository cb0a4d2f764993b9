//! The provided buffers: the kernel takes one for each receive, the loop returns it when its bytes have been sent.
//! It must never hand out a buffer itself, nor know what is in one.

use std::{
    alloc::{Layout, alloc_zeroed, handle_alloc_error},
    io,
    sync::atomic::{AtomicU16, Ordering},
};

use io_uring::{Submitter, types::BufRingEntry};

/// Buffers of a ring; a power of two, as the kernel demands.
pub const COUNT: u16 = 4096;

/// The group that receives name.
pub const GROUP: u16 = 0;

/// One ring of buffers. Its memory is never freed: the kernel may write into it until the process ends.
pub struct Buffers {
    ring: *mut BufRingEntry,
    data: *mut u8,
    size: usize,
    tail: u16,
    free: u16,
}

impl Buffers {
    /// Reserves `COUNT` buffers of `size` bytes, still unknown to the kernel.
    pub fn new(size: usize) -> Self {
        let pages = |bytes: usize| {
            let layout = Layout::from_size_align(bytes, 4096).expect("a few GiB at most");
            // SAFETY: not empty: there are `COUNT` entries, and a buffer has at least one byte.
            let memory = unsafe { alloc_zeroed(layout) };
            if memory.is_null() {
                handle_alloc_error(layout)
            } else {
                memory
            }
        };
        let ring = pages(usize::from(COUNT) * size_of::<BufRingEntry>()).cast();
        let data = pages(usize::from(COUNT) * size);
        Self {
            ring,
            data,
            size,
            tail: 0,
            free: 0,
        }
    }

    /// Tells the kernel about the ring and fills it.
    pub fn register(&mut self, submitter: &Submitter<'_>) -> io::Result<()> {
        // SAFETY: `ring` is page-aligned, has `COUNT` entries, and is never freed.
        unsafe { submitter.register_buf_ring_with_flags(self.ring as u64, COUNT, GROUP, 0)? };
        (0..COUNT).for_each(|id| self.recycle(id));
        Ok(())
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
        assert!(id < COUNT);
        // SAFETY: in bounds, by the assertion and the size of the allocation.
        unsafe { self.data.add(usize::from(id) * self.size) }
    }

    /// Gives buffer `id` back to the kernel.
    pub fn recycle(&mut self, id: u16) {
        let address = self.address(id) as u64;
        // SAFETY: the index is below `COUNT`; the kernel does not read this entry before the tail passes it; the
        // setters leave the first entry's reserved field alone, which is the tail.
        unsafe {
            let entry = &mut *self.ring.add(usize::from(self.tail % COUNT));
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
