//! The table of a second, split into messages that every server of messages accepts.
//!
//! Invariants:
//! - No message is longer than [`MAX_MESSAGE_BYTES`].
//! - What the assembler returns has the digest that every part of it named.
//! - The assembler holds no more bytes than its limit, whatever arrives: the tables begun first go first. An agent sends again
//!   what the coordinator lacks.

use super::{Digest, Table, Version, WordsError};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::{BTreeMap, VecDeque};
use thiserror::Error;

/// Bytes of a part, unless told otherwise: in base64, with all that stands around them, well below [`MAX_MESSAGE_BYTES`].
pub const PART_BYTES: usize = 512 << 10;
/// Largest message that NATS accepts as it is configured by default.
pub const MAX_MESSAGE_BYTES: usize = 1 << 20;
/// Bytes that are counted for each table that is begun, beside those that have arrived.
const OVERHEAD_BYTES: usize = 256;

/// A second of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// Id of the run.
    pub run: String,
    /// Epoch of the coordinator of the agent.
    pub epoch: u64,
    /// Id of the agent.
    pub agent: String,
    /// Incarnation of the agent.
    pub incarnation: u64,
    /// Number of the second, from 0 at the start of the load.
    pub second: u64,
}

/// A part of a second.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// Version of the messages.
    pub version: Version,
    /// The second that it is a part of.
    #[serde(flatten)]
    pub origin: Origin,
    /// Number of this part, from 0.
    pub part: u32,
    /// Number of parts.
    pub parts: u32,
    /// Bytes of the whole table.
    pub bytes: u64,
    /// Digest of the whole table: 64-bit FNV-1a, as 16 hexadecimal digits.
    pub digest: String,
    /// This part of the table.
    #[serde(serialize_with = "to_base64", deserialize_with = "from_base64")]
    pub data: Vec<u8>,
}

pub(super) fn to_base64<S: Serializer>(data: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&STANDARD.encode(data))
}

pub(super) fn from_base64<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
    STANDARD.decode(String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
}

/// Splits the bytes of the table of a second into parts of at most `limit` bytes, and one byte at least.
pub fn split(origin: &Origin, bytes: &[u8], limit: usize) -> Vec<Part> {
    let digest = Digest::of(bytes);
    let chunks: Vec<&[u8]> = bytes.chunks(limit.clamp(1, PART_BYTES)).collect();
    let parts = chunks.len() as u32;
    let part = |(part, data): (u32, &&[u8])| Part {
        version: Version,
        origin: origin.clone(),
        part,
        parts,
        bytes: bytes.len() as u64,
        digest: digest.clone(),
        data: data.to_vec(),
    };
    (0..).zip(&chunks).map(part).collect()
}

/// A part that was not taken.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PartError {
    /// Its numbers contradict each other or those of another part of the same second: neither is kept.
    #[error(
        "agent {agent}, second {second}: part {part} contradicts itself or another part: the second is asked for again"
    )]
    Contradiction {
        /// Id of the agent.
        agent: String,
        /// Number of the second.
        second: u64,
        /// Number of the part.
        part: u32,
    },
    /// The whole has another digest.
    #[error("agent {agent}, second {second}: the digest is {found} instead of {named}: it is asked for again")]
    Digest {
        /// Id of the agent.
        agent: String,
        /// Number of the second.
        second: u64,
        /// Digest of what arrived.
        found: String,
        /// Digest that the parts name.
        named: String,
    },
    /// The whole is larger than what the assembler may hold.
    #[error(
        "agent {agent}, second {second}: {bytes} bytes are more than the limit of {limit}: record fewer distributions"
    )]
    Large {
        /// Id of the agent.
        agent: String,
        /// Number of the second.
        second: u64,
        /// Bytes of the whole.
        bytes: u64,
        /// What the assembler may hold.
        limit: usize,
    },
    /// It is for another coordinator.
    #[error("agent {agent} sent a part of run {run}, epoch {epoch}, which is not this one: it is left out")]
    Foreign {
        /// Id of the agent.
        agent: String,
        /// Id of the run.
        run: String,
        /// Epoch of the coordinator.
        epoch: u64,
    },
    /// The whole is no table.
    #[error(transparent)]
    Table(#[from] WordsError),
}

/// A second that is there as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assembled {
    /// Id of the agent.
    pub agent: String,
    /// Incarnation of the agent.
    pub incarnation: u64,
    /// Number of the second.
    pub second: u64,
    /// What was measured.
    pub table: Table,
}

/// Agent, incarnation and second.
type Key = (String, u64, u64);

/// Puts the parts for one coordinator together, in whatever order and however often they arrive.
#[derive(Debug)]
pub struct Assembler {
    run: String,
    epoch: u64,
    limit: usize,
    held: usize,
    begun: BTreeMap<Key, Begun>,
    /// Keys of `begun`, the oldest first.
    order: VecDeque<Key>,
    dropped: u64,
}

/// A second of which some parts are there.
#[derive(Debug)]
struct Begun {
    parts: u32,
    bytes: u64,
    digest: String,
    data: BTreeMap<u32, Vec<u8>>,
    held: usize,
}

impl Assembler {
    /// An assembler for a run and the epoch of its coordinator that holds so many bytes at most.
    pub fn new(run: impl Into<String>, epoch: u64, limit: usize) -> Self {
        Self { run: run.into(), epoch, limit, held: 0, begun: BTreeMap::new(), order: VecDeque::new(), dropped: 0 }
    }

    /// Takes a part; returns the table once all its parts are there. A table whose parts all arrive again is returned again.
    ///
    /// # Errors
    /// The part is left out, or the whole is wrong and must be sent again.
    pub fn take(&mut self, part: Part) -> Result<Option<Assembled>, PartError> {
        let Origin { run, epoch, agent, incarnation, second } = part.origin.clone();
        if (&run, epoch) != (&self.run, self.epoch) {
            return Err(PartError::Foreign { agent, run, epoch });
        }
        let key = (agent.clone(), incarnation, second);
        if let Err(error) = self.check(&part, &key) {
            self.remove(&key);
            return Err(error);
        }
        let Part { part: number, parts, bytes, digest: named, data, .. } = part;
        if !self.begun.contains_key(&key) {
            let begun = Begun { parts, bytes, digest: named.clone(), data: BTreeMap::new(), held: 0 };
            self.begun.insert(key.clone(), begun);
            self.order.push_back(key.clone());
            self.hold(&key, OVERHEAD_BYTES);
        }
        let length = data.len();
        let Some(begun) = self.begun.get_mut(&key) else { return Ok(None) };
        if begun.data.insert(number, data).is_none() {
            self.hold(&key, length + OVERHEAD_BYTES);
        }
        self.make_room(&key);
        let is_whole = |begun: &Begun| begun.data.len() == begun.parts as usize;
        if !self.begun.get(&key).is_some_and(is_whole) {
            return Ok(None);
        }
        let whole: Vec<u8> =
            self.remove(&key).into_iter().flat_map(|begun| begun.data.into_values().flatten()).collect();
        let found = Digest::of(&whole);
        if found != named || whole.len() as u64 != bytes {
            return Err(PartError::Digest { agent, second, found, named });
        }
        Ok(Some(Assembled { agent, incarnation, second, table: Table::decode(&whole)? }))
    }

    /// Bytes held now.
    pub fn held(&self) -> usize {
        self.held
    }

    /// Tables that were begun and left out for room.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    fn check(&self, part: &Part, key: &Key) -> Result<(), PartError> {
        let (agent, second) = (part.origin.agent.clone(), part.origin.second);
        // The whole and what is counted for its parts, of which each has a byte.
        let needs = part.bytes.saturating_add((u64::from(part.parts) + 1) * OVERHEAD_BYTES as u64);
        if needs > self.limit as u64 {
            return Err(PartError::Large { agent, second, bytes: part.bytes, limit: self.limit });
        }
        let is_possible = part.part < part.parts && !part.data.is_empty() && part.data.len() as u64 <= part.bytes;
        let agrees = self.begun.get(key).is_none_or(|begun| {
            let same = begun.data.get(&part.part).is_none_or(|data| *data == part.data);
            let others = begun.data.iter().filter(|(number, _)| **number != part.part);
            let arrived: u64 = others.map(|(_, data)| data.len() as u64).sum();
            (begun.parts, begun.bytes) == (part.parts, part.bytes)
                && begun.digest == part.digest
                && same
                && arrived + part.data.len() as u64 <= part.bytes
        });
        match is_possible && agrees {
            true => Ok(()),
            false => Err(PartError::Contradiction { agent, second, part: part.part }),
        }
    }

    fn hold(&mut self, key: &Key, bytes: usize) {
        if let Some(begun) = self.begun.get_mut(key) {
            begun.held += bytes;
            self.held += bytes;
        }
    }

    /// Leaves out the oldest tables but this one until the limit is met; this one alone meets it.
    fn make_room(&mut self, but: &Key) {
        while self.held > self.limit {
            let Some(oldest) = self.order.iter().find(|key| *key != but).cloned() else { return };
            self.remove(&oldest);
            self.dropped += 1;
        }
    }

    fn remove(&mut self, key: &Key) -> Option<Begun> {
        let begun = self.begun.remove(key)?;
        self.order.retain(|other| other != key);
        self.held -= begun.held;
        Some(begun)
    }
}

#[cfg(test)]
mod tests;
