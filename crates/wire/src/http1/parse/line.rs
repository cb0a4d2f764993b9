//! Start lines, as the full parser and the fast path hand them on.

use crate::http1::{Method, Version};

/// A request line, its target in a form that the method allows.
pub(crate) struct RequestLine<'a> {
    pub method: Method,
    pub method_name: &'a str,
    pub target: &'a [u8],
    pub version: Version,
    /// Of the target, if it names one.
    pub authority: Option<&'a [u8]>,
}

/// A status line.
pub(crate) struct StatusLine<'a> {
    pub status: u16,
    pub reason: &'a [u8],
    pub version: Version,
}
