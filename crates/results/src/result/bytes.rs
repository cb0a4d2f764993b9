//! Bytes that a load moved.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Payload bytes of the measured window.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Bytes {
    /// Handed to the kernel.
    pub sent: u64,
    /// Taken from the kernel.
    pub received: u64,
    /// Read from the sockets over HTTP, records and handshakes of TLS included; absent by slices and for external testers.
    #[serde(default)]
    pub read: Option<u64>,
    /// Bytes of the bodies of good replies; absent as `read` is.
    #[serde(default)]
    pub good_body: Option<u64>,
}

impl Bytes {
    pub fn of(sent: u64, received: u64) -> Self {
        Self { sent, received, ..Self::default() }
    }

    pub fn add(&mut self, more: &Self) {
        self.sent += more.sent;
        self.received += more.received;
        for (own, more) in [(&mut self.read, more.read), (&mut self.good_body, more.good_body)] {
            *own = own.map_or(more, |own| Some(own + more.unwrap_or(0)));
        }
    }
}
