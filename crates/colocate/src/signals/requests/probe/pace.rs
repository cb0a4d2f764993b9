//! Time from one request of a probe to the next. Requests cost the service CPU time too: without the user's word they are many while
//! jobs may get more for it, for a few seconds a minute, some for a while after one was slow, and few otherwise.

use std::time::{Duration, Instant};

/// While the policy waits for evidence; for a while after a slow request; and otherwise.
pub(super) const FAST: Duration = Duration::from_millis(5);
pub(super) const ALERT: Duration = Duration::from_millis(20);
pub(super) const REST: Duration = Duration::from_millis(40);
/// How long after a slow request the next may be slow for the same cause.
pub(super) const SUSPICION: Duration = Duration::from_secs(1);
/// Time of the fast pace at once, and the part of the time in which it comes back.
const CREDIT: Duration = Duration::from_secs(15);
const PART: f64 = 1.0 / 20.0;

#[derive(Debug)]
pub(super) enum Pace {
    /// As the user has set it.
    Fixed(Duration),
    Own {
        /// Left of the fast pace, as of the last request.
        credit: Duration,
        last: Instant,
    },
}

impl Pace {
    pub fn new(every: Option<Duration>, now: Instant) -> Self {
        every.map_or(Self::Own { credit: CREDIT, last: now }, Self::Fixed)
    }

    /// From the request of now to the next one. `wants_more`: whether the policy waits for evidence; `slow`: when a request was last slow.
    pub fn next(&mut self, now: Instant, wants_more: bool, slow: Option<Instant>) -> Duration {
        match self {
            Self::Fixed(every) => *every,
            Self::Own { credit, last } => {
                let since = now.saturating_duration_since(std::mem::replace(last, now));
                *credit = (*credit + since.mul_f64(PART)).min(CREDIT);
                if wants_more && *credit >= FAST {
                    *credit -= FAST;
                    return FAST;
                }
                let is_suspicious = slow.is_some_and(|slow| now < slow + SUSPICION);
                if is_suspicious { ALERT } else { REST }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_fast_while_more_is_wanted_and_for_some_seconds_a_minute() {
        let begin = crate::clock::now();
        let requests = |wants_more: fn(u64) -> bool, slow: Option<Duration>, seconds: u64| {
            let slow = slow.map(|at| begin + at);
            let (mut pace, mut now, mut counts) = (Pace::new(None, begin), Duration::ZERO, vec![0; seconds as usize]);
            while now < Duration::from_secs(seconds) {
                counts[now.as_secs() as usize] += 1;
                let slow = slow.filter(|at| *at <= begin + now);
                now += pace.next(begin + now, wants_more(now.as_secs()), slow);
            }
            counts
        };
        let always = requests(|_| true, None, 120);
        assert!(always[..15].iter().all(|count| *count == 200), "{always:?}");
        let mean = always[60..].iter().sum::<u64>() as f64 / 60.0;
        assert!((30.0..37.0).contains(&mean), "{mean}");
        let seldom = requests(|second| second < 3 || second == 60, Some(Duration::from_secs(80)), 90);
        assert_eq!((seldom[0], seldom[30], seldom[60]), (200, 25, 200));
        assert_eq!((seldom[79], seldom[80], seldom[81]), (25, 50, 25));
    }
}
