//! Times in which the target could not be connected to.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A time in which no connection to a host of the target could be opened: from the first failed attempt to the next that
/// succeeded, or to the end of the window.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Outage {
    /// Its start, in seconds after the load began, warm-up included.
    pub at_s: f64,
    pub down_s: f64,
    /// The part of it inside the window, in seconds.
    pub of_window_s: f64,
    /// `IP:PORT` or `unix:PATH`.
    pub address: String,
    /// Attempts to connect that failed in it.
    pub failed: u64,
    /// Whether a connection was opened again.
    pub is_over: bool,
    /// The process that serves after it, where it is another one than before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub back_as: Option<u32>,
}

impl Outage {
    /// Whether what was noticed so many seconds after the load began, a little late, belongs to it.
    pub fn is_about(&self, noticed_s: f64) -> bool {
        (self.at_s - 1.5..=self.at_s + self.down_s + 1.5).contains(&noticed_s)
    }
}

impl fmt::Display for Outage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { at_s, down_s, address, failed, is_over, back_as, .. } = self;
        let attempts = if *failed == 1 { "attempt" } else { "attempts" };
        write!(f, "{address} was down for {down_s:.2} s from {at_s:.2} s on ({failed} {attempts} to connect failed)")?;
        match (is_over, back_as) {
            (false, _) => f.write_str(", and was not back at the end"),
            (true, Some(pid)) => write!(f, ", and back as pid {pid}"),
            (true, None) => Ok(()),
        }
    }
}
