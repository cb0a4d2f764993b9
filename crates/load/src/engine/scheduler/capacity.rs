//! Which connections have room, whose turn it is, and where what they are given stands.

use super::{IDLE, NONE, NOT_SENT, Scheduler, line::Slot};

impl Scheduler {
    /// The connection has room for one more request.
    pub(super) fn make_room(&mut self, index: u32) {
        if self.depth > 1 {
            let line = &mut self.lines[index as usize];
            line.room += 1;
            self.ready += usize::from(line.room == 1);
            return self.list(index);
        }
        self.slots[index as usize].intended = IDLE;
        self.ready += 1;
        self.idle.push_back(index);
    }

    /// Puts a connection that has room where [`Self::take_room`] finds it.
    fn list(&mut self, index: u32) {
        let (slot, line) = (&mut self.slots[index as usize], &mut self.lines[index as usize]);
        match slot.intended {
            NONE => {
                slot.intended = IDLE;
                self.idle.push_back(index);
            }
            IDLE => (),
            _ if line.is_listed => (),
            _ => {
                line.is_listed = true;
                self.roomy.push_back(index);
            }
        }
    }

    /// Takes room for one request from the connection whose turn it is.
    pub(super) fn take_room(&mut self) -> Option<u32> {
        let index = self.next_idle().or_else(|| self.next_roomy())?;
        if self.depth > 1 {
            let line = &mut self.lines[index as usize];
            line.room -= 1;
            self.ready -= usize::from(line.room == 0);
        } else {
            self.ready -= 1;
        }
        Some(index)
    }

    fn next_idle(&mut self) -> Option<u32> {
        let slots = &self.slots;
        std::iter::from_fn(|| self.idle.pop_front()).find(|index| slots[*index as usize].intended == IDLE)
    }

    fn next_roomy(&mut self) -> Option<u32> {
        loop {
            let index = self.roomy.pop_front()?;
            let line = &mut self.lines[index as usize];
            line.is_listed = false;
            if line.room > 0 && self.slots[index as usize].intended < IDLE {
                return Some(index);
            }
        }
    }

    /// Gives a connection, whose room was taken, the next request to send.
    pub(super) fn put(&mut self, index: u32, intended: u64) {
        let request = Slot { intended, sent: NOT_SENT };
        let slot = &mut self.slots[index as usize];
        let is_oldest = slot.intended >= IDLE;
        if is_oldest || self.depth == 1 {
            *slot = request;
        }
        if self.depth > 1 {
            let line = &mut self.lines[index as usize];
            line.unsent += 1;
            if !is_oldest {
                line.behind.push_back(request);
            }
            if line.room > 0 {
                self.list(index);
            }
        }
    }

    /// The first request of a connection that it has not sent; there is one.
    pub(super) fn first_unsent(&mut self, index: u32) -> &mut Slot {
        let slot = &mut self.slots[index as usize];
        match self.depth {
            1 => slot,
            _ => self.lines[index as usize].first_unsent().unwrap_or(slot),
        }
    }
}
