//! The first reply of a load that was not as expected.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A reply that was not as expected.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WrongReply {
    /// Kind of the error: `protocol` or `mismatch`.
    pub kind: String,
    /// What was expected.
    pub expected: String,
    /// What came; bytes are shortened.
    pub got: String,
}

impl WrongReply {
    /// `got` of a reply that is TLS, as a server with TLS sends to a client without it.
    pub const TLS: &str = "a TLS record";
}
