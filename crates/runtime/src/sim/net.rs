//! The world of a fake kernel: its sockets and their peers, the memory lent to it, and what was found wrong.

use super::{script::Script, socket::Sock};
use crate::buffers::recv::{BUFFER_SIZE, LARGE_SIZE};
use std::{collections::VecDeque, ptr::NonNull};

/// What fills a buffer while the kernel has it: nobody else may write there.
pub(crate) const POISON: u8 = 0xd5;

#[derive(Debug, Default)]
pub(crate) struct Net {
    pub script: Script,
    pub socks: Vec<Sock>,
    /// Connections to be accepted, in this order, and those that were.
    pub backlog: VecDeque<usize>,
    pub accepted: VecDeque<usize>,
    /// Receive buffers in the kernel's ring, the next one first.
    pub lent: VecDeque<(u16, NonNull<u8>)>,
    /// Likewise the large ones.
    pub large: VecDeque<(u16, NonNull<u8>)>,
    pub bell_on_its_way: bool,
    pub faults: Vec<String>,
}

impl Net {
    /// The buffers of one size, and how many bytes each has.
    pub fn group(&mut self, large: bool) -> (&mut VecDeque<(u16, NonNull<u8>)>, usize) {
        match large {
            true => (&mut self.large, LARGE_SIZE),
            false => (&mut self.lent, BUFFER_SIZE),
        }
    }
}
