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

/// Part of the jobs in it. Only where they have one it is longer than the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// They run at the floor, or requests fail.
    None,
    /// Unless requests are slow without them, too.
    Likely,
    /// They have more than the service leaves at the load that it has now. The queue of that makes requests slow for a while without them.
    Sure,
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
    part: Part,
    /// Length and time of the one before.
    before: (Duration, Option<Duration>),
}

impl Freeze {
    pub fn begin(&mut self, now: Duration, cause: Cause, part: Part) {
        let before = (self.length, self.last);
        let mut length = HOLD;
        if part != Part::None {
            let calm = self.last.map_or(Duration::MAX, |last| now.saturating_sub(last));
            let halvings = u32::try_from(calm.as_secs() / CALM.as_secs()).unwrap_or(u32::MAX).min(16);
            length =
                if calm < CALM { self.length * 2 } else { self.length / (1 << halvings) }.clamp(HOLD, LONGEST_HOLD);
            (self.length, self.last) = (length, Some(now));
        }
        self.now = Some(Frozen { cause, since: now, until: now + length, is_in_doubt: false, part, before });
    }

    pub fn now(&mut self) -> Option<&mut Frozen> {
        self.now.as_mut()
    }

    /// What jobs have no part in, as it has turned out, makes no later one longer.
    pub fn end(&mut self) {
        if let Some(frozen) = self.now.take().filter(|frozen| frozen.is_in_doubt && frozen.part == Part::Likely) {
            (self.length, self.last) = frozen.before;
        }
    }
}
