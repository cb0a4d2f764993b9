//! The rule of deadlines (`src/http/deadlines.rs`) in the world of `exact`, where ticks come one after another from the start of
//! the world on: a phase is over at a tick, the first one before which it has lasted as many whole ticks as its deadline has.

use crate::worlds::{SECOND, US};
use brunt_serve::http::Settings;
use std::time::Duration;

/// After its last response a client has this long to close.
const LINGER: Duration = Duration::from_secs(2);

/// From the tick at which a phase is over until the client sees the end of its connection: a turn of the connection, which sends a
/// 408, one that closes it, a link, and a turn of the client.
pub const SEEN: Duration = Duration::from_micros(13);
/// The same of a connection whose task runs alone in its turn: it sends at once, so it closes in that turn.
pub const SEEN_ALONE: Duration = SEEN.checked_sub(US).unwrap();

#[derive(Debug, Clone, Copy)]
pub struct Rule {
    pub tick: Duration,
}

impl Rule {
    pub fn of(settings: &Settings) -> Self {
        let deadlines = [settings.idle, settings.header, settings.body, settings.send, LINGER];
        let tick = deadlines.into_iter().min().unwrap() / 8;
        Self { tick: tick.clamp(SECOND / 100, SECOND / 4) }
    }

    /// From one tick to the next: a sleep.
    pub fn step(&self) -> Duration {
        self.tick + US
    }

    /// The tick at which a phase of this deadline that began then is over.
    pub fn over(&self, began: Duration, deadline: Duration) -> Duration {
        let ticks = began.as_nanos() / self.step().as_nanos() + deadline.as_nanos().div_ceil(self.tick.as_nanos()) + 1;
        self.step() * ticks as u32
    }
}

#[test]
fn a_phase_lasts_its_deadline_and_at_most_two_ticks_more() {
    let second = Settings { header: SECOND, ..Settings::default() };
    let rule = Rule::of(&second);
    assert_eq!(rule.tick, SECOND / 8);
    for began in (0..1000).map(|nth| nth * 1777 * US) {
        let lasted = rule.over(began, SECOND) - began;
        assert!((SECOND..SECOND + 2 * rule.step()).contains(&lasted), "{began:?}: {lasted:?}");
    }
}
