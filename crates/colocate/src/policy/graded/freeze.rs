//! Emergencies: jobs are frozen for a while, and longer each time it happens again soon.

use std::time::Duration;

/// First and longest freeze of an emergency, and the calm after which its length is halved.
pub(super) const HOLD: Duration = Duration::from_millis(500);
const LONGEST_HOLD: Duration = Duration::from_secs(30);
const CALM: Duration = Duration::from_secs(60);

/// Why jobs are frozen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cause {
    Slow,
    /// Requests fail within the limit.
    Failing,
}

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Freeze {
    /// While frozen.
    now: Option<Frozen>,
    last: Option<Duration>,
    /// Of the last one.
    length: Duration,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Frozen {
    pub cause: Cause,
    pub since: Duration,
    pub until: Duration,
    /// Whether it has become known that requests are slow without any job.
    pub is_in_doubt: bool,
}

impl Freeze {
    pub fn begin(&mut self, now: Duration, cause: Cause) {
        let calm = self.last.map_or(Duration::MAX, |last| now.saturating_sub(last));
        let halvings = u32::try_from(calm.as_secs() / CALM.as_secs()).unwrap_or(u32::MAX).min(16);
        self.length =
            if calm < CALM { self.length * 2 } else { self.length / (1 << halvings) }.clamp(HOLD, LONGEST_HOLD);
        self.last = Some(now);
        self.now = Some(Frozen { cause, since: now, until: now + self.length, is_in_doubt: false });
    }

    pub fn now(&mut self) -> Option<&mut Frozen> {
        self.now.as_mut()
    }

    pub fn end(&mut self) {
        self.now = None;
    }
}
