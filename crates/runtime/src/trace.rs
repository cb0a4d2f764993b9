//! `tracing` events and spans for an operator's log; nothing without the feature `tracing`.
//!
//! A subscriber is foreign code: nothing of the worker may be borrowed or locked. Never used once per request.

/// Emits an event: `event!(WARN, "message"; name = value, ...)`, with values that implement `Display`.
macro_rules! event {
    ($level:ident, $what:literal $(; $($name:ident = $value:expr),+)?) => {{
        #[cfg(feature = "tracing")]
        tracing::event!(tracing::Level::$level, $($($name = %$value,)+)? $what);
        #[cfg(not(feature = "tracing"))]
        let _ = || { $($(let _ = &$value;)+)? };
    }};
}

/// Enters a span, which ends when the returned guard is dropped: `span!("name"; field = value, ...)`.
macro_rules! span {
    ($what:literal $(; $($name:ident = $value:expr),+)?) => {{
        #[cfg(feature = "tracing")]
        let span = tracing::span!(tracing::Level::INFO, $what $($(, $name = %$value)+)?).entered();
        #[cfg(not(feature = "tracing"))]
        let span = { let _ = || { $($(let _ = &$value;)+)? }; crate::trace::NoSpan };
        span
    }};
}

/// Reports that slow readers or peers hold all usual receive buffers: once per episode, at most once a second.
#[derive(Default)]
pub(crate) struct BufferShortage {
    /// Whether there is a shortage, and when one was last reported.
    #[cfg(feature = "tracing")]
    state: std::cell::Cell<(bool, Option<std::time::Instant>)>,
}

impl BufferShortage {
    /// Called after each turn; `overflow` counts the overflow buffers in use.
    #[cfg(feature = "tracing")]
    pub fn observe(&self, worker: u16, now: impl FnOnce() -> std::time::Instant, overflow: impl FnOnce() -> u64) {
        if self.begins(overflow() > 0, now) {
            event!(WARN, "receive buffers have run out, for slow readers or peers hold them; spare ones serve"; worker = worker);
        }
    }

    /// Whether an episode begins that is to be reported.
    #[cfg(feature = "tracing")]
    fn begins(&self, is_short: bool, now: impl FnOnce() -> std::time::Instant) -> bool {
        let (was_short, reported) = self.state.replace((is_short, self.state.get().1));
        if !is_short || was_short {
            return false;
        }
        let now = now();
        let begins = reported.is_none_or(|at| now.duration_since(at) >= std::time::Duration::from_secs(1));
        if begins {
            self.state.set((true, Some(now)));
        }
        begins
    }

    #[cfg(not(feature = "tracing"))]
    #[inline(always)]
    pub fn observe(&self, _: u16, _: impl FnOnce() -> std::time::Instant, _: impl FnOnce() -> u64) {}
}

#[cfg(not(feature = "tracing"))]
pub(crate) struct NoSpan;

pub(crate) use {event, span};

#[cfg(all(test, feature = "tracing"))]
mod tests {
    use super::BufferShortage;
    use std::time::{Duration, Instant};

    #[test]
    fn a_shortage_is_reported_once_an_episode_and_at_most_once_a_second() {
        let (shortage, start) = (BufferShortage::default(), Instant::now());
        // Episodes of a millisecond, and one of five seconds.
        let is_short = |ms: u64| ms % 2 == 1 || (3000..8000).contains(&ms);
        let told = (0..10_000u64).filter(|ms| shortage.begins(is_short(*ms), || start + Duration::from_millis(*ms)));
        assert_eq!(told.collect::<Vec<_>>(), [1, 1001, 2001, 8001, 9001]);
    }
}
