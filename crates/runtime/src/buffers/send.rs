//! Send buffers: `write` copies into one, and the kernel sends from it later.
//!
//! A buffer is in use from the write until the completion of the send. The last one released is used first, as it is in the
//! cache. Memory is mapped a group at a time, and touched as far as buffers are filled.

use crate::mm;
use std::io::{self, IoSlice};
use std::ptr::NonNull;

/// Bytes of one buffer, and so the most that one send takes.
pub(crate) const BLOCK_SIZE: usize = 16 * 1024;
const GROUP: u32 = 64;
const GROUP_BYTES: usize = BLOCK_SIZE * GROUP as usize;

pub(crate) struct SendBuffers {
    groups: Vec<NonNull<u8>>,
    free: Vec<u32>,
    /// The kernel has finished with every buffer.
    reaped: bool,
}

impl SendBuffers {
    pub fn new() -> Self {
        Self { groups: Vec::new(), free: Vec::new(), reaped: false }
    }

    /// Takes a free buffer. Fails only if memory or address space is exhausted.
    #[inline]
    pub fn take(&mut self) -> io::Result<u32> {
        match self.free.pop() {
            Some(block) => Ok(block),
            None => self.grow(),
        }
    }

    #[cold]
    fn grow(&mut self) -> io::Result<u32> {
        self.groups.push(mm::reserve(GROUP_BYTES)?);
        let first = (self.groups.len() as u32 - 1) * GROUP;
        self.free.extend((first + 1..first + GROUP).rev());
        Ok(first)
    }

    #[inline]
    pub fn release(&mut self, block: u32) {
        self.free.push(block);
    }

    #[inline]
    pub fn address(&self, block: u32) -> NonNull<u8> {
        let group = self.groups[(block / GROUP) as usize];
        // SAFETY: block % GROUP is below GROUP, so the result lies inside that group's mapping.
        unsafe { group.add((block % GROUP) as usize * BLOCK_SIZE) }
    }

    /// Copies as much of `bytes` as fits into a buffer; returns how much.
    #[inline]
    pub fn fill(&mut self, block: u32, bytes: &[u8]) -> usize {
        let len = bytes.len().min(BLOCK_SIZE);
        // SAFETY: the block was taken and is not yet with the kernel, so nothing else refers to it; it holds BLOCK_SIZE bytes,
        // and a borrowed slice cannot overlap a mapping that no slice was ever made of.
        unsafe { self.address(block).copy_from_nonoverlapping(NonNull::from(bytes).cast(), len) };
        len
    }

    /// As `fill`, for several pieces in order.
    pub fn gather(&mut self, block: u32, pieces: &[IoSlice<'_>]) -> usize {
        let mut filled = 0;
        for piece in pieces {
            let len = piece.len().min(BLOCK_SIZE - filled);
            // SAFETY: as in `fill`, and what is filled never exceeds BLOCK_SIZE.
            unsafe { self.address(block).add(filled).copy_from_nonoverlapping(NonNull::from(&**piece).cast(), len) };
            filled += len;
        }
        filled
    }

    /// Unmaps the memory on drop. Without this call it is leaked.
    ///
    /// # Safety
    /// Every send from one of the buffers has completed, and none will be submitted.
    pub unsafe fn free_on_drop(&mut self) {
        self.reaped = true;
    }
}

impl Drop for SendBuffers {
    fn drop(&mut self) {
        // Otherwise leaked: only a completion ends a request, not the closing of the ring.
        for group in self.groups.iter().filter(|_| self.reaped) {
            // SAFETY: reserved in `grow` with this length, and every send from it has completed.
            unsafe { mm::release(*group, GROUP_BYTES) };
        }
    }
}

#[cfg(test)]
impl SendBuffers {
    pub fn busy(&self) -> Vec<u32> {
        (0..self.groups.len() as u32 * GROUP).filter(|block| !self.free.contains(block)).collect()
    }
}
