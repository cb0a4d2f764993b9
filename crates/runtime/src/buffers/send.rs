//! Send blocks: where `write` puts bytes that the kernel takes later.
//!
//! A block is busy from the write until its completion; the last one freed is used first, for it is warm. Memory is
//! reserved a group at a time and touched only as far as blocks are really filled.

use std::{
    io::{self, IoSlice},
    ptr::NonNull,
};

/// Bytes of one block: enough that streaming is not one round trip for every few kilobytes.
pub(crate) const BLOCK_SIZE: usize = 16 * 1024;
const GROUP: u32 = 64;

pub(crate) struct Blocks {
    groups: Vec<NonNull<u8>>,
    free: Vec<u32>,
}

impl Blocks {
    pub fn new() -> Self {
        Self { groups: Vec::new(), free: Vec::new() }
    }

    /// A free block. Fails only when the address space or memory is exhausted.
    #[inline]
    pub fn take(&mut self) -> io::Result<u32> {
        match self.free.pop() {
            Some(block) => Ok(block),
            None => self.grow(),
        }
    }

    #[cold]
    fn grow(&mut self) -> io::Result<u32> {
        use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};
        // SAFETY: a fresh anonymous mapping at an address of the kernel's choice aliases nothing.
        let base = unsafe {
            let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
            mmap_anonymous(
                std::ptr::null_mut(),
                BLOCK_SIZE * GROUP as usize,
                ProtFlags::READ | ProtFlags::WRITE,
                flags,
            )?
        };
        self.groups.push(NonNull::new(base.cast()).ok_or(io::ErrorKind::OutOfMemory)?);
        let first = (self.groups.len() as u32 - 1) * GROUP;
        self.free.extend((first + 1..first + GROUP).rev());
        Ok(first)
    }

    #[inline]
    pub fn give_back(&mut self, block: u32) {
        self.free.push(block);
    }

    #[inline]
    pub fn address(&self, block: u32) -> NonNull<u8> {
        let group = self.groups[(block / GROUP) as usize];
        // SAFETY: block % GROUP is below GROUP, so the result lies inside that group's mapping.
        unsafe { group.add((block % GROUP) as usize * BLOCK_SIZE) }
    }

    /// Copies as much of `bytes` as fits into a block; returns how much.
    #[inline]
    pub fn fill(&mut self, block: u32, bytes: &[u8]) -> usize {
        let len = bytes.len().min(BLOCK_SIZE);
        // SAFETY: the block was taken and not yet given to the kernel, so it is ours alone; it holds BLOCK_SIZE bytes,
        // and a borrowed slice cannot overlap a mapping that no slice was ever made of.
        unsafe { self.address(block).copy_from_nonoverlapping(NonNull::from(bytes).cast(), len) };
        len
    }

    /// As `fill`, of several pieces one after the other.
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
}

impl Blocks {
    /// Keeps all memory for good, because the kernel may still read from it.
    #[cold]
    pub fn leak(&mut self) {
        self.groups.clear();
        self.free.clear();
    }
}

impl Drop for Blocks {
    fn drop(&mut self) {
        for group in &self.groups {
            // SAFETY: mapped in `grow` with this length; the ring is closed before the blocks are dropped.
            let _ = unsafe { rustix::mm::munmap(group.as_ptr().cast(), BLOCK_SIZE * GROUP as usize) };
        }
    }
}

#[cfg(test)]
impl Blocks {
    /// Those that are not free, in order.
    pub fn busy(&self) -> Vec<u32> {
        (0..self.groups.len() as u32 * GROUP).filter(|block| !self.free.contains(block)).collect()
    }
}
