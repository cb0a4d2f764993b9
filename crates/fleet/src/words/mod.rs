//! Messages between coordinator and agents, as JSON with a version.
//!
//! - Fields that a reader does not know are ignored, so that a later version can add some; a message of another version is
//!   refused.
//! - Each message names the run and the epoch of its coordinator. An order has a number, which repetitions share, and a deadline.
//! - `tests/all/golden/` has one message of each kind, as text: a change of these files is a change of the protocol.

mod answer;
mod digest;
mod event;
mod file;
mod order;
mod parts;
mod session;
mod table;

pub use answer::{Answer, Refusal, Reply, State, Status, Times};
pub(crate) use digest::Digest;
pub use event::{End, Event, Notice, Why};
pub use file::{File, MAX_FILE_BYTES, MAX_FILES, MAX_FILES_BYTES, PIECE_BYTES, Piece, Wanted};
pub use order::{Arm, Envelope, Order, Task};
pub use parts::{Assembled, Assembler, MAX_MESSAGE_BYTES, Origin, PART_BYTES, Part, PartError, split};
pub use session::{Ask, Question, Said, SessionAnswer};
pub use table::Table;

use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use thiserror::Error;

/// Version of the messages.
pub const VERSION: &str = "brunt.1";

/// [`VERSION`] as a field: reading any other fails.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Version;

impl Serialize for Version {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(VERSION)
    }
}

impl<'de> Deserialize<'de> for Version {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match String::deserialize(deserializer)?.as_str() {
            VERSION => Ok(Self),
            other => Err(D::Error::custom(format!("version {other}"))),
        }
    }
}

/// A message that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum WordsError {
    /// It is of another version.
    #[error("a message of version '{0}' instead of '{VERSION}': run the same version of brunt on all machines")]
    Version(String),
    /// It is no such message.
    #[error("a message of {bytes} bytes cannot be read ({why}): run the same version of brunt on all machines")]
    Unreadable {
        /// Length of the message.
        bytes: usize,
        /// Where and why.
        why: String,
    },
}

/// Reads a message.
///
/// # Errors
/// It is of another version, or no such message.
pub fn decode<T: DeserializeOwned>(text: &str) -> Result<T, WordsError> {
    /// What every message has, whatever its version.
    #[derive(Deserialize)]
    struct Head {
        version: String,
    }

    serde_json::from_str(text).map_err(|error| match serde_json::from_str::<Head>(text) {
        Ok(Head { version }) if version != VERSION => WordsError::Version(version),
        _ => WordsError::Unreadable { bytes: text.len(), why: error.to_string() },
    })
}

/// Writes a message.
///
/// # Errors
/// A value in it has no form in JSON, such as a number that is not finite.
pub fn encode<T: Serialize>(message: &T) -> Result<String, WordsError> {
    serde_json::to_string(message).map_err(|error| WordsError::Unreadable { bytes: 0, why: error.to_string() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn no_text_is_read_as_a_message_that_it_is_not(text in ".{0,200}", version in "[a-z.0-9]{1,9}") {
            prop_assert!(decode::<Envelope>(&text).is_err());
            let foreign = format!(r#"{{"version":"{version}","run":"r"}}"#);
            prop_assert_eq!(decode::<Envelope>(&foreign), Err(WordsError::Version(version)));
        }
    }
}
