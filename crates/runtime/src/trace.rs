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
    pub fn observe(&self, worker: u16, overflow: impl FnOnce() -> u64) {
        let (short, (was_short, reported)) = (overflow() > 0, self.state.get());
        let recently = reported.is_some_and(|at| at.elapsed() < std::time::Duration::from_secs(1));
        if !short || was_short || recently {
            return self.state.set((short, reported));
        }
        self.state.set((true, Some(std::time::Instant::now())));
        event!(WARN, "receive buffers have run out, for slow readers or peers hold them; spare ones serve"; worker = worker);
    }

    #[cfg(not(feature = "tracing"))]
    #[inline(always)]
    pub fn observe(&self, _: u16, _: impl FnOnce() -> u64) {}
}

#[cfg(not(feature = "tracing"))]
pub(crate) struct NoSpan;

pub(crate) use {event, span};
