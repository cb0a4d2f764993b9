//! State of a simulated kernel: sockets and their peers, memory lent to it, and violations found.

use super::{script::Script, socket::Sock};
use crate::buffers::recv::{BUFFER_SIZE, LARGE_SIZE};
use std::{cell::RefCell, collections::VecDeque, ptr::NonNull};

/// Fills a buffer while the kernel has it, to detect writes.
pub(crate) const POISON: u8 = 0xd5;

#[derive(Debug, Default)]
pub(crate) struct Net {
    pub script: Script,
    pub socks: Vec<Sock>,
    /// Connections to accept, in this order, and accepted ones not yet matched to their plan.
    pub backlog: VecDeque<usize>,
    pub accepted: VecDeque<usize>,
    /// Receive buffers in the kernel's rings, next first.
    pub lent: VecDeque<(u16, NonNull<u8>)>,
    pub large: VecDeque<(u16, NonNull<u8>)>,
    /// A completion of the wake descriptor was posted and not yet taken.
    pub wake_posted: bool,
    pub violations: RefCell<Vec<String>>,
}

impl Net {
    pub fn report(&self, violation: String) {
        self.violations.borrow_mut().push(violation);
    }

    /// The buffers of one group, and the size of each in bytes.
    pub fn group(&mut self, large: bool) -> (&mut VecDeque<(u16, NonNull<u8>)>, usize) {
        match large {
            true => (&mut self.large, LARGE_SIZE),
            false => (&mut self.lent, BUFFER_SIZE),
        }
    }
}
