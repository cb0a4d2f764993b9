//! What becomes of the requests of a connection that is lost, or given up by the sweep.
//!
//! Timeouts need no timer for each request: [`Scheduler::sweep`] walks the table of send times, 16 bytes a connection. A list
//! in order of sending would be walked less and would cost every request six writes to keep.

use super::{IDLE, NONE, NOT_SENT, Scheduler, line::Slot};
use crate::measure::recorder::{Failure, Recorder};

/// A sweep looks at no fewer connections than this ...
const SWEEP_LEAST: usize = 4096;
/// ... and at all of them this often within a timeout.
const SWEEPS: u64 = 16;

impl Scheduler {
    /// The connection is lost. What the sweep has cut is recorded already.
    pub fn lost(&mut self, index: u32, now_ns: u64, failure: Failure) {
        let Slot { intended, sent } = self.slots[index as usize];
        if intended != NONE && sent == NOT_SENT {
            self.recorder.connection_error(now_ns, failure);
        }
        self.strip(index, |recorder, slot| recorder.failed(now_ns, failure, slot.intended, None));
    }

    /// Takes its room from a connection, and its requests: others get those it has not sent, `each` is called for the rest.
    pub(super) fn strip(&mut self, index: u32, mut each: impl FnMut(&mut Recorder, Slot)) {
        let oldest = std::mem::replace(&mut self.slots[index as usize], Slot::CLOSED);
        let mut has_room = oldest.intended == IDLE;
        let mut take = |slot: Slot| match slot {
            Slot { intended: NONE | IDLE, .. } => (),
            Slot { intended, sent: NOT_SENT } if self.schedule.is_some() => self.requeued.push_back(intended),
            Slot { sent: NOT_SENT, .. } => (),
            _ => each(&mut self.recorder, slot),
        };
        take(oldest);
        if let Some(line) = self.lines.get_mut(index as usize) {
            line.behind.drain(..).for_each(take);
            has_room |= line.room > 0;
            (line.room, line.unsent) = (0, 0);
        }
        self.ready -= usize::from(has_room);
    }

    /// Gives up the requests sent longer ago than the timeout and wakes their connections. `tick_ns` is how often this
    /// is called: each call looks at so many connections that all are seen sixteen times within a timeout.
    pub fn sweep(&mut self, now_ns: u64, tick_ns: u64) {
        let all = self.slots.len();
        let part = (all as u64 * tick_ns * SWEEPS).div_ceil(self.timeout_ns) as usize;
        let Some(limit) = now_ns.checked_sub(self.timeout_ns) else {
            return;
        };
        for _ in 0..part.max(SWEEP_LEAST).min(all) {
            self.swept = if self.swept + 1 < all { self.swept + 1 } else { 0 };
            if self.slots[self.swept].sent <= limit {
                self.time_out(self.swept as u32, now_ns);
                self.wakers[self.swept].wake_by_ref();
            }
        }
    }

    /// The oldest request of a connection has taken too long. The connection goes, and what was sent behind that with it:
    /// it has waited, so far, for as long as it has.
    #[cold]
    #[inline(never)]
    pub(super) fn time_out(&mut self, index: u32, now_ns: u64) {
        let timeout_ns = self.timeout_ns;
        self.strip(index, |recorder, slot| {
            let due = now_ns.min(slot.sent + timeout_ns);
            recorder.failed(now_ns, Failure::Timeout, slot.intended, Some(due));
        });
    }
}
