//! The ends of a recorder's intervals: each second, the start of the window and its end.

use super::{Recorder, SECOND_NS};
use crate::measure::interval::Phase;
use std::{mem, sync::atomic::Ordering::Relaxed};

impl Recorder {
    #[cold]
    #[inline(never)]
    pub(super) fn end_intervals(&mut self, now_ns: u64) {
        while self.current.phase != Phase::Drain {
            let close_ns = self.links.close.load(Relaxed);
            let end_ns = self.next_ns.min(close_ns);
            if now_ns < end_ns {
                return;
            }
            if self.open_ns == u64::MAX {
                self.open_ns = self.links.open.load(Relaxed);
            }
            if end_ns == close_ns {
                self.current.counters.unanswered += self.outstanding - self.of_warmup.min(self.outstanding);
            }
            let phase = self.current.phase;
            self.end_interval(end_ns);
            (self.current.phase, self.next_ns, self.from_ns) = if end_ns == close_ns {
                (Phase::Drain, u64::MAX, self.open_ns)
            } else if end_ns < self.open_ns {
                (Phase::Warmup, self.open_ns.min(end_ns + SECOND_NS), 0)
            } else {
                if self.is_limited() && phase == Phase::Warmup {
                    self.of_warmup = self.outstanding;
                }
                (Phase::Window, end_ns + SECOND_NS, self.open_ns)
            };
        }
    }

    pub(super) fn end_interval(&mut self, end_ns: u64) {
        let usage = (self.links.meter)();
        let fresh = self.spare.pop().unwrap_or_default();
        let mut over = mem::replace(&mut self.current, fresh);
        over.end_ns = end_ns;
        over.usage_end = usage;
        over.connections = self.connections;
        self.current.number = over.number + 1;
        self.current.start_ns = end_ns;
        self.current.usage_start = usage;
        self.current.counters = Default::default();
        self.finished.push_back(over);
    }
}
