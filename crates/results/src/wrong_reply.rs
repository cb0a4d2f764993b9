//! The first reply of a load that was not as expected.

use crate::verdict::FailureCause;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A reply that was not as expected.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WrongReply {
    /// Kind of the error: `protocol`, `status` or `mismatch`.
    pub kind: String,
    /// What was expected.
    pub expected: String,
    /// What came; bytes are shortened.
    pub got: String,
}

impl fmt::Display for WrongReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let noun = if self.kind == "protocol" { " error" } else { "" };
        write!(f, "the first {}{noun}: {} instead of {}", self.kind, self.got, self.expected)
    }
}

/// What web servers say to plain HTTP on a port for TLS: nginx, Go, Apache.
const PLAIN_ON_TLS: [&str; 3] =
    ["plain HTTP request was sent", "HTTP request to an HTTPS server", "speaking plain HTTP to an SSL"];

impl WrongReply {
    /// What is known of the cause from what `got` tells.
    pub fn cause(got: &str) -> Option<FailureCause> {
        match () {
            () if got.starts_with(Self::TLS) || PLAIN_ON_TLS.iter().any(|words| got.contains(words)) => {
                Some(FailureCause::Tls)
            }
            () if got.starts_with(Self::HTTP2) => Some(FailureCause::Http2),
            () if got.starts_with(Self::REDIRECT) => Some(FailureCause::Redirect),
            () => None,
        }
    }

    /// Beginning of `got` of a reply that is TLS, as a server with TLS sends to a client without it.
    pub const TLS: &str = "a TLS record";
    /// The same of HTTP/2, which gRPC servers speak too.
    pub const HTTP2: &str = "an HTTP/2 frame";
    /// The same of a redirect that is to be followed and leads to another scheme, host or port.
    pub const REDIRECT: &str = "a redirect to ";
}
