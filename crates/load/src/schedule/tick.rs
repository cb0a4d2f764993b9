//! When requests are sent: at their intended times, or at multiples of a tick, as generators with a timer do.

/// Nanoseconds between two times at which requests are sent; 0 if each is sent at its intended time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tick(pub u64);

impl Tick {
    /// When a request of this intended time is to be sent, both since the load began.
    #[inline]
    pub fn due(self, intended_ns: u64) -> u64 {
        // 0 has no multiples.
        intended_ns.checked_next_multiple_of(self.0).unwrap_or(intended_ns)
    }

    /// Requests that are to be sent before `end` are those that were intended before this.
    pub fn intended_before(self, end_ns: u64) -> u64 {
        match end_ns.checked_sub(1).and_then(|last| last.checked_div(self.0)) {
            Some(ticks) => ticks * self.0 + 1,
            None => end_ns,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_due_at_the_next_tick_and_counts_if_that_is_before_the_end() {
        assert_eq!([0, 1, 999, 1000, 1001].map(|at| Tick(1000).due(at)), [0, 1000, 1000, 1000, 2000]);
        assert_eq!([0, 1, 999].map(|at| Tick::default().due(at)), [0, 1, 999]);
        for (tick, end) in [(0, 5000), (1000, 0), (1000, 1), (1000, 5000), (1000, 5001), (1000, 5999), (7, 5000)] {
            let before = Tick(tick).intended_before(end);
            (0..6000).for_each(|at| assert_eq!(at < before, Tick(tick).due(at) < end, "{tick} {end} {at}"));
        }
    }
}
