//! Limits the connect rate by default to the target's accept rate.
//!
//! A listener whose queue is full drops what else comes, and the kernel tries such a connection again after a second
//! (RFC 6298): a target that is asked too fast gets its connections later, not sooner. An attempt that took so long tells,
//! and halves the pace; each one that did not makes it a little faster again. Pure: the caller says when.

/// An attempt that took this long was dropped at least once: the first one is repeated after a second.
const DROPPED_NS: u64 = 700_000_000;
/// What was dropped in one overrun comes back together and is one sign, not many.
const DEAF_NS: u64 = 900_000_000;
/// The gap after a quick attempt, as a share of the gap before it: twice as fast after some seven hundred.
const EASING: f64 = 0.999;
/// A shorter gap is none.
const SHORTEST_NS: f64 = 5_000.0;
/// No target is asked less than ten times a second by a thread.
const LONGEST_NS: f64 = 1e8;

/// The pace of one load thread.
#[derive(Debug, Default)]
pub struct ConnectPacer {
    /// Between the beginnings of two attempts.
    gap_ns: f64,
    /// When the last attempt was let go.
    last_ns: u64,
    /// When the first one was.
    first_ns: Option<u64>,
    /// Attempts that have ended.
    ended: u64,
    /// Until when dropped attempts are those of an overrun that has been answered.
    deaf_ns: u64,
}

impl ConnectPacer {
    /// When the next attempt may begin; nothing if it may at once.
    pub fn due(&mut self, now_ns: u64) -> Option<u64> {
        self.first_ns.get_or_insert(now_ns);
        let due = self.last_ns + self.gap_ns as u64;
        self.last_ns = due.max(now_ns);
        (due > now_ns).then_some(due)
    }

    /// An attempt has ended after so long.
    pub fn ended(&mut self, now_ns: u64, took_ns: u64) {
        self.ended += 1;
        if took_ns < DROPPED_NS {
            self.gap_ns *= EASING;
            if self.gap_ns < SHORTEST_NS {
                self.gap_ns = 0.0;
            }
        } else if now_ns >= self.deaf_ns {
            self.deaf_ns = now_ns + DEAF_NS;
            let mean_ns = (now_ns - self.first_ns.unwrap_or(now_ns)) as f64 / self.ended as f64;
            self.gap_ns = (2.0 * if self.gap_ns > 0.0 { self.gap_ns } else { mean_ns }).min(LONGEST_NS);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// Between two attempts that could both begin now.
    fn gap(pacer: &mut ConnectPacer, now: u64) -> u64 {
        let first = pacer.due(now).unwrap_or(now);
        pacer.due(now).unwrap_or(now) - first
    }

    #[test]
    fn nothing_is_held_back_until_something_is_dropped() {
        let mut pacer = ConnectPacer::default();
        for now in (0..10 * MS).step_by(10_000) {
            assert_eq!(pacer.due(now), None);
            pacer.ended(now, 100_000);
        }
    }

    #[test]
    fn an_overrun_halves_the_pace_once_and_quick_attempts_restore_it() {
        let mut pacer = ConnectPacer::default();
        let start = 5_000 * MS;
        for number in 0..1000 {
            assert_eq!(pacer.due(start + number * MS), None);
            pacer.ended(start + number * MS, MS);
        }
        // One each millisecond so far, and now a hundred come back that were dropped.
        let now = start + 1000 * MS;
        (0..100).for_each(|_| pacer.ended(now, 1000 * MS));
        let short = gap(&mut pacer, now);
        assert!((19 * MS / 10..=21 * MS / 10).contains(&short), "{short}");
        // A second overrun, later, halves it once more.
        pacer.ended(now + 1000 * MS, 1000 * MS);
        let later = now + 2000 * MS;
        let longer = gap(&mut pacer, later);
        assert!((39 * MS / 10..=41 * MS / 10).contains(&longer), "{longer}");
        (0..10_000).for_each(|_| pacer.ended(later, MS));
        assert_eq!(gap(&mut pacer, later + 1000 * MS), 0);
    }

    #[test]
    fn a_target_that_drops_everything_is_still_asked() {
        let mut pacer = ConnectPacer::default();
        for second in 1..200 {
            pacer.due(second * 1000 * MS);
            pacer.ended(second * 1000 * MS, 1000 * MS);
        }
        let now = 300_000 * MS;
        assert_eq!(gap(&mut pacer, now), 100 * MS);
    }
}
