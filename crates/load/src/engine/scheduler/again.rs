//! Several loads one after the other on the same connections, each of which begins and ends with no request in flight.

use super::{Scheduler, slot::Slot, slot::State};
use crate::schedule::Schedule;

impl Scheduler {
    /// Starts another load with `schedule`, after the drain of the one before; its window is `open_ns` to `Links::close`.
    pub fn begin_again(&mut self, start_ns: u64, open_ns: u64, schedule: Option<Schedule>) {
        self.recorder.begin_again(start_ns, open_ns);
        self.schedule = schedule;
        self.late_ns = 0;
        self.begin(start_ns);
    }

    /// The window ended at `close_ns`: requests that were due and are not sent stay unanswered, and their connections have
    /// capacity again.
    pub fn take_back(&mut self, close_ns: u64) {
        self.dispatcher = None;
        while let Some(intended) = self.requeued.pop_front() {
            self.recorder.unsent(close_ns, intended);
        }
        for index in 0..self.slots.len() as u32 {
            let unsent = self.take_back_from(index, close_ns);
            (0..unsent).for_each(|_| self.add_capacity(index, close_ns));
        }
    }

    /// Returns how many requests of the connection were unsent.
    fn take_back_from(&mut self, index: u32, close_ns: u64) -> u32 {
        // In a closed loop, no request is taken before it is sent.
        let open_loop = self.schedule.is_some();
        let recorder = &mut self.recorder;
        let mut count = 0;
        let mut take = |slot: Slot| {
            if let State::Assigned { intended } = slot.state() {
                count += 1;
                if open_loop {
                    recorder.unsent(close_ns, intended);
                }
            }
        };
        let slot = &mut self.slots[index as usize];
        take(*slot);
        if let State::Assigned { .. } = slot.state() {
            *slot = Slot::CLOSED;
        }
        if let Some(pipeline) = self.pipelines.get_mut(index as usize).filter(|pipeline| pipeline.unsent > 0) {
            pipeline.take_unsent().for_each(take);
        }
        count
    }

    pub fn schedule(&self) -> Option<&Schedule> {
        self.schedule.as_ref()
    }
}
