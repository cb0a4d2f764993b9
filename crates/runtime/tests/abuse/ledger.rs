//! What this process holds, to be compared before and after: every allocation, every descriptor, all address space.

use crate::shared::open_descriptors;
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::AtomicI64;
use std::sync::atomic::Ordering::Relaxed;

static BYTES: AtomicI64 = AtomicI64::new(0);
static PIECES: AtomicI64 = AtomicI64::new(0);

/// The system's allocator, and a count of what is out.
struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

// SAFETY: every call is passed on as it came; counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        BYTES.fetch_add(layout.size() as i64, Relaxed);
        PIECES.fetch_add(1, Relaxed);
        // SAFETY: the caller keeps the contract of this very function.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        BYTES.fetch_sub(layout.size() as i64, Relaxed);
        PIECES.fetch_sub(1, Relaxed);
        // SAFETY: as above.
        unsafe { System.dealloc(start, layout) };
    }

    unsafe fn realloc(&self, start: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        BYTES.fetch_add(size as i64 - layout.size() as i64, Relaxed);
        // SAFETY: as above.
        unsafe { System.realloc(start, layout, size) }
    }
}

/// All of it at one time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Holdings {
    pub descriptors: usize,
    pub allocations: i64,
    pub bytes: i64,
}

impl Holdings {
    pub fn now() -> Self {
        let descriptors = open_descriptors();
        Self { descriptors, allocations: PIECES.load(Relaxed), bytes: BYTES.load(Relaxed) }
    }
}

/// Address space in use, in KiB. The allocator of the system keeps some of what it once had.
pub fn address_space() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmSize:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}
