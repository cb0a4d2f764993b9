//! A completion of the ring (`struct io_uring_cqe`) and its flags.

use io_uring::cqueue;

pub(crate) const F_BUFFER: u32 = 1;
pub(crate) const F_MORE: u32 = 1 << 1;
pub(crate) const F_SOCK_NONEMPTY: u32 = 1 << 2;

#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(crate) struct Completion {
    pub data: u64,
    pub result: i32,
    pub flags: u32,
}

impl Completion {
    pub fn into_entry(self) -> cqueue::Entry {
        // SAFETY: both are 16 bytes, three integers in this order; all values are valid.
        unsafe { std::mem::transmute::<Self, cqueue::Entry>(self) }
    }
}

pub(crate) fn buffer_flags(buffer: u16) -> u32 {
    F_BUFFER | u32::from(buffer) << 16
}
