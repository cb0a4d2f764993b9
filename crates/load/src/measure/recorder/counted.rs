//! Windows of a number of requests, of which all load threads draw.

use super::Recorder;
use crate::measure::interval::Phase;
use crate::measure::links::Budget;

impl Recorder {
    /// Whether the window is of a number of requests.
    #[inline]
    pub fn is_limited(&self) -> bool {
        self.links.budget.is_some()
    }

    /// Whether a closed loop may send one more request, which counts then: always, unless the window is of a number of requests.
    pub fn may_send(&self) -> bool {
        self.drawing().is_none_or(|budget| budget.draw(1) == 1)
    }

    /// How many of `wanted` requests may be sent in one write with another.
    pub fn draw_along(&self, wanted: u32) -> u32 {
        self.drawing().map_or(wanted, |budget| budget.draw_along(wanted.into()) as u32)
    }

    fn drawing(&self) -> Option<&Budget> {
        self.links.budget.as_deref().filter(|_| self.current.phase == Phase::Window)
    }

    /// A request has ended in a window of a number of requests; false if it is none of them. The last one closes the window.
    #[inline(never)]
    pub(super) fn spend(&mut self, now_ns: u64, intended_ns: u64) -> bool {
        let is_counted = intended_ns >= self.open_ns;
        self.of_warmup = self.of_warmup.saturating_sub(u64::from(!is_counted));
        if is_counted && let Some(end_ns) = self.links.budget.as_ref().and_then(|budget| budget.spend(now_ns)) {
            self.links.close_at(end_ns);
        }
        is_counted
    }
}
