//! The account of the memory lent to the kernel of a world.
//!
//! Invariants:
//! - Lent memory is read and written only between a request and its last completion, and found as it was left.
//! - A runtime that has ended has lent again every buffer that it took.

use crate::buffers::recv::{BUFFER_SIZE, OVERFLOW_START, RING};
use crate::slab::Key;
use std::{collections::VecDeque, ptr::NonNull, slice};

/// Fills a buffer while the kernel has it, to detect writes.
static POISON: [u8; BUFFER_SIZE] = [0xd5; BUFFER_SIZE];
/// Bytes of a buffer that are checked unless whole buffers are.
const CHECKED: usize = 64;

/// Where a buffer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Hold {
    /// Never lent.
    #[default]
    New,
    Lent,
    /// The runtime has it.
    Returned,
}

/// What one runtime has lent.
#[derive(Default)]
pub(crate) struct Lent {
    /// Buffers to receive into, next first.
    buffers: VecDeque<(u16, NonNull<u8>)>,
    held: Vec<Hold>,
    /// Memory of sends in flight: key, address, length.
    pub sends: Vec<(Key, usize, usize)>,
}

impl Lent {
    /// Lends a buffer. Returns what is wrong, if anything.
    ///
    /// # Safety
    /// See `Uring::provide`.
    pub unsafe fn provide(&mut self, start: NonNull<u8>, buffer: u16, whole: bool) -> Option<String> {
        if usize::from(buffer) >= self.held.len() {
            self.held.resize(usize::from(buffer) + 1, Hold::New);
        }
        let before = std::mem::replace(&mut self.held[usize::from(buffer)], Hold::Lent);
        let full = self.buffers.len() >= usize::from(RING);
        self.buffers.push_back((buffer, start));
        let (from, to) = (start.as_ptr() as usize, start.as_ptr() as usize + BUFFER_SIZE);
        let in_use = self.sends.len() <= 64 && self.sends.iter().any(|(_, at, len)| from < at + len && *at < to);
        // SAFETY: the caller lends a buffer of that size.
        unsafe { start.write_bytes(POISON[0], checked(whole)) };
        let found = [
            (before == Hold::Lent, "was provided twice"),
            (full, "is one more than the ring holds"),
            (in_use, "is the memory of a send in flight"),
        ];
        found.iter().find(|(wrong, _)| *wrong).map(|(_, what)| format!("buffer {buffer} {what}"))
    }

    /// Whether a lent buffer is as it was when it was lent.
    ///
    /// # Safety
    /// The buffer was provided at that address, and not given back.
    pub unsafe fn is_untouched(start: NonNull<u8>, whole: bool) -> bool {
        let len = checked(whole);
        // SAFETY: a provided buffer belongs to the kernel, which this is, and has at least that size.
        unsafe { slice::from_raw_parts(start.as_ptr(), len) == &POISON[..len] }
    }

    pub fn take_buffer(&mut self) -> Option<(u16, NonNull<u8>)> {
        self.buffers.pop_front()
    }

    /// A completion returns a buffer; false if it was not lent.
    pub fn give_back(&mut self, buffer: u16) -> bool {
        let hold = self.held.get_mut(usize::from(buffer));
        hold.is_some_and(|hold| std::mem::replace(hold, Hold::Returned) == Hold::Lent)
    }

    /// Buffers that the runtime has taken and not lent again. Overflow buffers are lent once.
    pub fn missing(&self) -> usize {
        self.held.iter().take(usize::from(OVERFLOW_START)).filter(|hold| **hold == Hold::Returned).count()
    }

    pub fn end_send(&mut self, key: Key) {
        if let Some(nth) = self.sends.iter().position(|(of, ..)| *of == key) {
            self.sends.swap_remove(nth);
        }
    }
}

fn checked(whole: bool) -> usize {
    if whole { BUFFER_SIZE } else { CHECKED }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_lent_twice_or_written_to_while_it_is_lent_is_a_violation() {
        let (mut lent, mut memory) = (Lent::default(), vec![0u8; BUFFER_SIZE]);
        let start = NonNull::new(memory.as_mut_ptr()).unwrap();
        // SAFETY: the buffer outlives its use, and nothing else refers to it.
        let lend = |lent: &mut Lent| unsafe { lent.provide(start, 7, true) };
        // SAFETY: as above.
        let is_untouched = || unsafe { Lent::is_untouched(start, true) };
        for _ in 0..2 {
            assert_eq!(lend(&mut lent), None);
            assert!(is_untouched());
            // SAFETY: as above.
            unsafe { start.add(3000).write(1) };
            assert!(!is_untouched());
            assert!(lent.give_back(7) && !lent.give_back(7));
            assert_eq!(lent.missing(), 1);
        }
        lend(&mut lent);
        assert_eq!(lent.missing(), 0);
        assert!(lend(&mut lent).unwrap().contains("provided twice"));
        drop(memory);
    }
}
