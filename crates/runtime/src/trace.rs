//! What an operator wants to read, as `tracing` events and spans; nothing at all without the feature `tracing`.
//!
//! A subscriber is foreign code: nothing of the worker may be borrowed, and no lock held, where one of these is called.
//! Never for what happens once a request.

/// An event: `event!(WARN, "what has happened"; name = value, ...)`, with values that have a `Display`.
macro_rules! event {
    ($level:ident, $what:literal $(; $($name:ident = $value:expr),+)?) => {{
        #[cfg(feature = "tracing")]
        tracing::event!(tracing::Level::$level, $($($name = %$value,)+)? $what);
        #[cfg(not(feature = "tracing"))]
        let _ = || { $($(let _ = &$value;)+)? };
    }};
}

/// A span from here to the end of the scope that holds what this returns: `span!("what"; name = value, ...)`.
macro_rules! span {
    ($what:literal $(; $($name:ident = $value:expr),+)?) => {{
        #[cfg(feature = "tracing")]
        let span = tracing::span!(tracing::Level::INFO, $what $($(, $name = %$value)+)?).entered();
        #[cfg(not(feature = "tracing"))]
        let span = { let _ = || { $($(let _ = &$value;)+)? }; crate::trace::NoSpan };
        span
    }};
}

/// Tells that slow readers or peers have come to hold all the usual receive buffers: once each time, and once a second
/// at most.
#[derive(Default)]
pub(crate) struct Hunger {
    #[cfg(feature = "tracing")]
    told: std::cell::Cell<(bool, Option<std::time::Instant>)>,
}

impl Hunger {
    /// Looks at how many spare buffers are out after a turn.
    #[cfg(feature = "tracing")]
    pub fn look(&self, worker: u16, spares_out: impl FnOnce() -> u64) {
        let (hungry, (was_hungry, told)) = (spares_out() > 0, self.told.get());
        if !hungry || was_hungry || told.is_some_and(|told| told.elapsed() < std::time::Duration::from_secs(1)) {
            return self.told.set((hungry, told));
        }
        self.told.set((true, Some(std::time::Instant::now())));
        event!(WARN, "receive buffers have run out, for slow readers or peers hold them; spare ones serve"; worker = worker);
    }

    #[cfg(not(feature = "tracing"))]
    #[inline(always)]
    pub fn look(&self, _: u16, _: impl FnOnce() -> u64) {}
}

/// What stands for a span where there are none.
#[cfg(not(feature = "tracing"))]
pub(crate) struct NoSpan;

pub(crate) use {event, span};
