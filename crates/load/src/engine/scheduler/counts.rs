//! Counts in short intervals: which requests are in flight at the end of one.

use super::{Scheduler, slot::Slot, slot::State};
use crate::{measure::counter::Part, schedule::Schedule};

impl Scheduler {
    /// The counts of an interval, if one is over at `now_ns`. The window ends at `close_ns`.
    pub fn count(&mut self, now_ns: u64, close_ns: u64) -> Option<Part> {
        let counter = self.recorder.counter.as_deref_mut().filter(|counter| now_ns >= counter.next_ns)?;
        let mut walk = counter.walk(now_ns);
        let open_loop = self.schedule.is_some();
        let mut visit = |slot: &Slot| match slot.state() {
            State::InFlight { intended, .. } => walk.visit(intended),
            // In a closed loop, no request is taken before it is sent.
            State::Assigned { intended } if open_loop => walk.visit(intended),
            State::Assigned { .. } | State::Closed | State::Idle { .. } => (),
        };
        self.slots.iter().for_each(&mut visit);
        self.pipelines.iter().flat_map(|pipeline| &pipeline.queued).for_each(visit);
        self.requeued.iter().for_each(|intended| walk.visit(*intended));
        Some(walk.end(self.schedule.as_ref(), close_ns))
    }

    /// The counts since the last interval, after [`Self::finish`], which returned `schedule`. The window ended at `close_ns`.
    pub fn count_rest(&mut self, now_ns: u64, close_ns: u64, schedule: Option<&Schedule>) -> Option<Part> {
        let counter = self.recorder.counter.as_deref_mut()?;
        Some(counter.rest(now_ns, schedule, close_ns))
    }
}
