//! What an operator wants to read, as `tracing` events and spans; nothing at all without the feature `tracing`.
//!
//! A subscriber is foreign code: nothing of the worker may be borrowed, and no lock held, where one of these is called.
//! Never for what happens once a request.

/// An event: `note!(WARN, "what has happened"; name = value, ...)`, with values that have a `Display`.
macro_rules! note {
    ($level:ident, $what:literal $(; $($name:ident = $value:expr),+)?) => {{
        #[cfg(feature = "tracing")]
        tracing::event!(tracing::Level::$level, $($($name = %$value,)+)? $what);
        #[cfg(not(feature = "tracing"))]
        let _ = || { $($(let _ = &$value;)+)? };
    }};
}

/// A span from here to the end of the scope that holds what this returns: `within!("what"; name = value, ...)`.
macro_rules! within {
    ($what:literal $(; $($name:ident = $value:expr),+)?) => {{
        #[cfg(feature = "tracing")]
        let span = tracing::span!(tracing::Level::INFO, $what $($(, $name = %$value)+)?).entered();
        #[cfg(not(feature = "tracing"))]
        let span = { let _ = || { $($(let _ = &$value;)+)? }; crate::trace::NoSpan };
        span
    }};
}

/// What stands for a span where there are none.
#[cfg(not(feature = "tracing"))]
pub(crate) struct NoSpan;

pub(crate) use {note, within};
