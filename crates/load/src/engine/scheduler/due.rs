//! Due requests: when each may be sent, and the pass that gives them to connections.

use super::{Due, Scheduler};

/// A request taken from the schedule, or from those whose connection was lost before it sent them.
pub(super) struct Taken {
    pub intended: u64,
    /// When it is to be sent: its intended time, or the next tick.
    pub due: u64,
    /// Not one whose connection was lost.
    pub is_scheduled: bool,
}

impl Scheduler {
    /// Assigns due requests to connections with capacity and wakes them.
    pub fn dispatch(&mut self, now_ns: u64) -> Due {
        self.recorder.advance(now_ns);
        if self.recorder.is_draining() {
            return Due::Over;
        }
        let mut scheduled = 0;
        let next = loop {
            match self.next_due() {
                None => break Due::Over,
                Some(due) if due > now_ns => break Due::At(due),
                Some(_) if self.available == 0 => break Due::NoCapacity,
                Some(_) => (),
            }
            let (Some(taken), Some(index)) = (self.take_due(now_ns), self.take_capacity(now_ns)) else {
                break Due::NoCapacity;
            };
            if taken.is_scheduled {
                scheduled += 1;
                self.recorder.scheduled(taken.intended);
            }
            self.assign(index, taken.intended);
            self.wakers[index as usize].wake_by_ref();
        };
        self.recorder.woke_for(scheduled);
        next
    }

    /// When the next request is to be sent, requeued ones first.
    fn next_due(&self) -> Option<u64> {
        let scheduled = || Some(self.due_at(self.start_ns? + self.schedule.as_ref()?.peek()));
        self.requeued.front().copied().or_else(scheduled)
    }

    /// When a request of this intended time is to be sent.
    #[inline]
    pub(super) fn due_at(&self, intended_ns: u64) -> u64 {
        let (Some(start_ns), Some(schedule)) = (self.start_ns, &self.schedule) else { return intended_ns };
        start_ns + schedule.due(intended_ns.saturating_sub(start_ns))
    }

    pub(super) fn take_due(&mut self, now_ns: u64) -> Option<Taken> {
        let due = self.next_due().filter(|due| *due <= now_ns)?;
        if let Some(intended) = self.requeued.pop_front() {
            return Some(Taken { intended, due, is_scheduled: false });
        }
        let intended = self.start_ns? + self.schedule.as_mut()?.take();
        self.recorder.taken();
        Some(Taken { intended, due, is_scheduled: true })
    }
}
