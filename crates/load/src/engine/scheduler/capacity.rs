//! Which connections have capacity, in which order they get requests, and where assigned requests are kept.

use super::{Scheduler, slot::Slot, slot::State};

impl Scheduler {
    pub(super) fn add_capacity(&mut self, index: u32, now_ns: u64) {
        if self.depth > 1 {
            let pipeline = &mut self.pipelines[index as usize];
            pipeline.capacity += 1;
            self.available += usize::from(pipeline.capacity == 1);
            return self.list(index, now_ns);
        }
        self.slots[index as usize] = Slot::idle(now_ns);
        self.available += 1;
        self.order.list_idle(&mut self.idle, index);
    }

    fn list(&mut self, index: u32, now_ns: u64) {
        let (slot, pipeline) = (&mut self.slots[index as usize], &mut self.pipelines[index as usize]);
        if slot.is_closed() {
            *slot = Slot::idle(now_ns);
            self.order.list_idle(&mut self.idle, index);
        } else if slot.is_busy() && !pipeline.is_listed {
            pipeline.is_listed = true;
            self.with_capacity.push_back(index);
        }
    }

    /// Takes capacity for one request from the connection whose turn it is.
    pub(super) fn take_capacity(&mut self, now_ns: u64) -> Option<u32> {
        let index = self.next_idle(now_ns).or_else(|| self.next_with_capacity())?;
        if self.depth > 1 {
            let pipeline = &mut self.pipelines[index as usize];
            pipeline.capacity -= 1;
            self.available -= usize::from(pipeline.capacity == 0);
        } else {
            self.available -= 1;
        }
        Some(index)
    }

    fn next_idle(&mut self, now_ns: u64) -> Option<u32> {
        loop {
            let index = self.order.take_idle(&mut self.idle)?;
            if let State::Idle { since } = self.slots[index as usize].state() {
                // What began before the load is no rest between two requests.
                if self.start_ns.is_some_and(|start_ns| since >= start_ns) {
                    self.recorder.rested(now_ns.saturating_sub(since));
                }
                return Some(index);
            }
        }
    }

    fn next_with_capacity(&mut self) -> Option<u32> {
        loop {
            let index = self.order.take(&mut self.with_capacity)?;
            let pipeline = &mut self.pipelines[index as usize];
            pipeline.is_listed = false;
            if pipeline.capacity > 0 && self.slots[index as usize].is_busy() {
                return Some(index);
            }
        }
    }

    /// Assigns a request to a connection whose capacity was taken.
    pub(super) fn assign(&mut self, index: u32, intended: u64) {
        let request = Slot::assigned(intended);
        let slot = &mut self.slots[index as usize];
        let is_oldest = !slot.is_busy();
        if is_oldest || self.depth == 1 {
            *slot = request;
        }
        if self.depth > 1 {
            let pipeline = &mut self.pipelines[index as usize];
            pipeline.unsent += 1;
            if !is_oldest {
                pipeline.queued.push_back(request);
            }
            if pipeline.capacity > 0 {
                self.list(index, intended);
            }
        }
    }

    /// The connection's first unsent request; it must have one.
    pub(super) fn first_unsent(&mut self, index: u32) -> &mut Slot {
        let slot = &mut self.slots[index as usize];
        match self.depth {
            1 => slot,
            _ => self.pipelines[index as usize].first_unsent().unwrap_or(slot),
        }
    }
}
