//! The account of the memory lent to the kernel of a world.
//!
//! Invariant: lent memory is read and written only between a request and its last completion, and found as it was left.

use super::machine::State;
use crate::buffers::recv::{BUFFER_SIZE, LARGE_RING, LARGE_SIZE, RING};
use crate::slab::Key;
use std::{collections::VecDeque, ptr::NonNull, slice};

/// Fills a buffer while the kernel has it, to detect writes.
static POISON: [u8; LARGE_SIZE] = [0xd5; LARGE_SIZE];
static ZEROES: [u8; LARGE_SIZE] = [0; LARGE_SIZE];
/// Bytes of a buffer that are checked unless whole buffers are.
const CHECKED: usize = 64;

/// A buffer as the kernel sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Hold {
    /// Never lent.
    #[default]
    New,
    /// Lent for the first time: zeroes, not touched, as memory of this process it takes no page.
    Zero,
    /// Lent, and filled with [`POISON`].
    Poisoned,
    /// The runtime has it.
    Returned,
}

impl Hold {
    /// Returns whether it was lent.
    fn give_back(&mut self) -> bool {
        matches!(std::mem::replace(self, Self::Returned), Self::Zero | Self::Poisoned)
    }
}

/// What one runtime has lent.
#[derive(Default)]
pub(super) struct Lent {
    /// Buffers to receive into, usual and large, next first.
    groups: [VecDeque<(u16, NonNull<u8>)>; 2],
    held: Vec<Hold>,
    /// Memory of sends in flight: key, address, length.
    pub sends: Vec<(Key, usize, usize)>,
}

impl Lent {
    /// The next buffer of a group.
    pub fn take_buffer(&mut self, large: bool) -> Option<(u16, NonNull<u8>)> {
        self.groups[usize::from(large)].pop_front()
    }

    /// A completion returns a buffer; false if it was not lent.
    pub fn give_back(&mut self, buffer: u16) -> bool {
        self.held.get_mut(usize::from(buffer)).is_some_and(Hold::give_back)
    }

    pub fn end_send(&mut self, key: Key) {
        if let Some(nth) = self.sends.iter().position(|(of, ..)| *of == key) {
            self.sends.swap_remove(nth);
        }
    }
}

fn checked(large: bool, whole: bool) -> usize {
    let size = if large { LARGE_SIZE } else { BUFFER_SIZE };
    if whole { size } else { CHECKED }
}

impl State {
    /// # Safety
    /// See `Uring::provide`.
    pub unsafe fn provide(&mut self, ring: usize, start: NonNull<u8>, buffer: u16, large: bool) {
        let whole = self.settings.check_whole_buffers;
        let lent = &mut self.rings[ring].lent;
        if usize::from(buffer) >= lent.held.len() {
            lent.held.resize(usize::from(buffer) + 1, Hold::New);
        }
        let hold = &mut lent.held[usize::from(buffer)];
        let (twice, new) = (matches!(hold, Hold::Zero | Hold::Poisoned), *hold == Hold::New);
        *hold = if new { Hold::Zero } else { Hold::Poisoned };
        let group = &mut lent.groups[usize::from(large)];
        let full = group.len() >= usize::from(if large { LARGE_RING } else { RING });
        group.push_back((buffer, start));
        let (from, to) = (start.as_ptr() as usize, start.as_ptr() as usize + BUFFER_SIZE);
        let in_use = lent.sends.len() <= 64 && lent.sends.iter().any(|(_, at, len)| from < at + len && *at < to);
        if !new {
            // SAFETY: the caller lends a buffer of that size.
            unsafe { start.write_bytes(POISON[0], checked(large, whole)) };
        }
        for (wrong, what) in [
            (twice, "was provided twice"),
            (full, "is one more than the ring holds"),
            (in_use, "is the memory of a send in flight"),
        ] {
            if wrong {
                self.report(format!("buffer {buffer} {what}"));
            }
        }
    }

    /// A lent buffer must be as it was when it was lent.
    pub fn check_poison(&mut self, ring: usize, buffer: u16, start: NonNull<u8>, large: bool) {
        let len = checked(large, self.settings.check_whole_buffers);
        let expected = if self.rings[ring].lent.held[usize::from(buffer)] == Hold::Zero { &ZEROES } else { &POISON };
        // SAFETY: the runtime has lent this buffer, of at least that size, to the kernel.
        if unsafe { slice::from_raw_parts(start.as_ptr(), len) } != &expected[..len] {
            self.report(format!("buffer {buffer} was written to while the kernel had it"));
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::super::machine::Machine;
    use super::super::{Settings, ring::RingState};
    use super::*;

    #[test]
    fn a_buffer_lent_twice_or_written_to_while_it_is_lent_is_a_violation() {
        let machine = Machine::new(1, Settings::default());
        let state = &mut *machine.state.borrow_mut();
        state.rings.push(RingState::new(0));
        let mut memory = vec![0u8; BUFFER_SIZE];
        let start = NonNull::new(memory.as_mut_ptr()).unwrap();
        let lend = |state: &mut State| {
            // SAFETY: the buffer outlives the state, and nothing else refers to it meanwhile.
            unsafe { state.provide(0, start, 7, false) };
        };
        for poisoned in [false, true] {
            lend(state);
            state.check_poison(0, 7, start, false);
            assert!(state.violations.is_empty(), "{:?}", state.violations);
            // SAFETY: as above.
            unsafe { start.add(3).write(1) };
            state.check_poison(0, 7, start, false);
            assert!(state.violations.pop().unwrap().contains("written to"), "{poisoned}");
            assert!(state.rings[0].lent.give_back(7) && !state.rings[0].lent.give_back(7));
        }
        lend(state);
        lend(state);
        assert!(state.violations.pop().unwrap().contains("provided twice"));
        drop(memory);
    }
}
