//! Why a connection of the load could not be opened.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An error of opening a connection.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConnectError {
    /// Whose limit it is.
    pub cause: ConnectCause,
    /// As the system words it.
    pub error: String,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ConnectCause {
    /// The target refused it.
    Refused,
    /// The generator had no file or port left.
    Exhausted,
    #[default]
    Other,
}
