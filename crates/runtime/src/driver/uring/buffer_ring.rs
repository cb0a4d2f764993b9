//! A ring of provided buffers, which the kernel receives into: one buffer group.
//!
//! Invariant: the owner unregisters the group before it drops the ring.

use crate::mm;
use io_uring::{IoUring, types::BufRingEntry};
use std::sync::atomic::{AtomicU16, Ordering};
use std::{io, ptr::NonNull};

pub(super) struct BufferRing {
    entries: NonNull<BufRingEntry>,
    /// Their number, a power of two.
    count: u16,
    tail: u16,
}

impl BufferRing {
    pub fn new(ring: &IoUring, count: u16, group: u16) -> io::Result<Self> {
        let buffer_ring = Self { entries: mm::map(bytes(count))?, count, tail: 0 };
        let address = buffer_ring.entries.as_ptr() as u64;
        // SAFETY: the mapping is page-aligned, has room for `count` entries and stays until it is dropped.
        unsafe { ring.submitter().register_buf_ring_with_flags(address, count, group, 0) }?;
        Ok(buffer_ring)
    }

    /// Provides a buffer to the kernel.
    ///
    /// # Safety
    /// `address` points to `len` bytes that nothing else refers to until a completion names the buffer, and the ring holds
    /// fewer buffers than it has entries: else this overwrites one that the kernel has not consumed.
    #[inline]
    pub unsafe fn provide(&mut self, address: NonNull<u8>, len: u32, buffer: u16) {
        let slot = usize::from(self.tail & (self.count - 1));
        // SAFETY: `slot` is below `count`, and the kernel has consumed the entry there. For the usual group `io::buffer_pool`
        // counts the buffers in the ring and asserts that; the large group has no more buffers than the ring has entries.
        let entry = unsafe { &mut *self.entries.as_ptr().add(slot) };
        entry.set_addr(address.as_ptr() as u64);
        entry.set_len(len);
        entry.set_bid(buffer);
        self.tail = self.tail.wrapping_add(1);
        // SAFETY: the tail lies in the mapped ring, where the kernel reads it with acquire semantics.
        let tail = unsafe { &*BufRingEntry::tail(self.entries.as_ptr()).cast::<AtomicU16>() };
        tail.store(self.tail, Ordering::Release);
    }
}

impl Drop for BufferRing {
    fn drop(&mut self) {
        // SAFETY: mapped in `new` with this length, and no longer registered with any ring.
        unsafe { mm::unmap(self.entries, bytes(self.count)) };
    }
}

fn bytes(count: u16) -> usize {
    usize::from(count) * size_of::<BufRingEntry>()
}
