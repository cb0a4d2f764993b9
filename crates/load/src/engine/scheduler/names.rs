//! Names of the requests in flight, for figures of each name.

use super::Scheduler;
use std::collections::VecDeque;

/// By connection, those of its sent requests in order; empty if the load has no names, so that these cost one comparison.
pub(super) type Names = Vec<VecDeque<u16>>;

impl Scheduler {
    /// The load has names: the request just sent has this one.
    pub fn name(&mut self, index: u32, name: u16) {
        if self.names.is_empty() {
            self.names.resize(self.slots.len(), VecDeque::new());
            self.recorder.begin_names();
        }
        self.names[index as usize].push_back(name);
    }

    /// The oldest request of a connection has a reply, which is recorded next.
    #[inline]
    pub(super) fn end_name(&mut self, index: u32) {
        if let Some(names) = self.names.get_mut(index as usize) {
            self.recorder.breakdown.name = names.pop_front();
        }
    }
}
