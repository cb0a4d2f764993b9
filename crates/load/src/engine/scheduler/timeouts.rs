//! Requests of connections that are lost or time out.
//!
//! Requests have no timers: [`Scheduler::sweep`] walks the table of send times, 16 bytes a connection. A list ordered by
//! send time would be shorter to walk and cost every request six writes.

use super::Scheduler;
use super::slot::{Slot, State};
use crate::measure::recorder::{Failure, Recorder};

/// Least number of connections that a sweep examines.
const SWEEP_LEAST: usize = 4096;
/// How often each connection is examined within a timeout.
const SWEEPS: u64 = 16;

impl Scheduler {
    /// The connection is lost. Requests that timed out before are recorded already.
    pub fn lost(&mut self, index: u32, now_ns: u64, mut failure: Failure) {
        if matches!(self.slots[index as usize].state(), State::Idle { .. } | State::Assigned { .. }) {
            self.recorder.connection_error(now_ns, failure);
        }
        self.take_requests(index, |recorder, intended, _| {
            recorder.failed(now_ns, failure, intended, None);
            // No other reply than the first has begun.
            if failure == Failure::Truncated {
                failure = Failure::Reset;
            }
        });
    }

    /// Takes capacity and requests from a connection. Unsent requests go to other connections; `each` gets the intended and
    /// the sending time of every other one.
    pub(super) fn take_requests(&mut self, index: u32, mut each: impl FnMut(&mut Recorder, u64, u64)) {
        let oldest = std::mem::replace(&mut self.slots[index as usize], Slot::CLOSED);
        let mut has_capacity = oldest.is_idle();
        let names = self.names.get_mut(index as usize).map(std::mem::take);
        let mut names = names.into_iter().flatten();
        let mut take = |slot: Slot| match slot.state() {
            State::Closed | State::Idle { .. } => (),
            State::Assigned { intended } if self.schedule.is_some() => self.requeued.push_back(intended),
            State::Assigned { .. } => (),
            State::InFlight { intended, sent } => {
                self.recorder.breakdown.name = names.next();
                each(&mut self.recorder, intended, sent);
            }
        };
        take(oldest);
        if let Some(pipeline) = self.pipelines.get_mut(index as usize) {
            pipeline.queued.drain(..).for_each(take);
            has_capacity |= pipeline.capacity > 0;
            (pipeline.capacity, pipeline.unsent) = (0, 0);
        }
        self.available -= usize::from(has_capacity);
    }

    /// Gives up requests sent longer ago than the timeout and wakes their connections. Called every `tick_ns`; each call
    /// examines so many connections that all are examined [`SWEEPS`] times within a timeout.
    pub fn sweep(&mut self, now_ns: u64, tick_ns: u64) {
        let all = self.slots.len();
        let part = (all as u64 * tick_ns * SWEEPS).div_ceil(self.timeout_ns) as usize;
        let Some(limit) = now_ns.checked_sub(self.timeout_ns) else {
            return;
        };
        for _ in 0..part.max(SWEEP_LEAST).min(all) {
            self.swept = if self.swept + 1 < all { self.swept + 1 } else { 0 };
            if self.slots[self.swept].is_sent_by(limit) {
                self.time_out(self.swept as u32, now_ns);
                self.wakers[self.swept].wake_by_ref();
            }
        }
    }

    /// The oldest request of a connection has timed out. The connection is closed, so requests sent behind it are recorded
    /// as timeouts too, each with the time it has waited so far.
    #[cold]
    #[inline(never)]
    pub(super) fn time_out(&mut self, index: u32, now_ns: u64) {
        let timeout_ns = self.timeout_ns;
        self.take_requests(index, |recorder, intended, sent| {
            recorder.failed(now_ns, Failure::Timeout, intended, Some(now_ns.min(sent + timeout_ns)));
        });
    }
}
