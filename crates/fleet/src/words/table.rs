//! Named distributions and counters of one second, as compact bytes.
//!
//! Layout, numbers in little endian: the number of distributions (4 bytes), for each the length of its name (2) and the name, the
//! length of its bytes (4) and the bytes; the number of counters (4), for each the length of its name (2), the name and the
//! count (8). What follows is ignored, so that a later version can add something.

use super::WordsError;
use std::collections::BTreeMap;

/// What an agent has measured in one second.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Table {
    /// Distributions by name, as bytes that this crate does not read.
    pub distributions: BTreeMap<String, Vec<u8>>,
    /// Counters by name.
    pub counters: BTreeMap<String, u64>,
}

impl Table {
    /// The table as bytes. Names are cut after 65,535 bytes, which none of brunt has.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let name = |bytes: &mut Vec<u8>, name: &str| {
            let longest = name.len().min(usize::from(u16::MAX));
            let kept = (0..=longest).rev().find(|at| name.is_char_boundary(*at)).unwrap_or(0);
            bytes.extend((kept as u16).to_le_bytes());
            bytes.extend(&name.as_bytes()[..kept]);
        };
        bytes.extend((self.distributions.len() as u32).to_le_bytes());
        for (called, distribution) in &self.distributions {
            name(&mut bytes, called);
            bytes.extend((distribution.len() as u32).to_le_bytes());
            bytes.extend(distribution);
        }
        bytes.extend((self.counters.len() as u32).to_le_bytes());
        for (called, count) in &self.counters {
            name(&mut bytes, called);
            bytes.extend(count.to_le_bytes());
        }
        bytes
    }

    /// Reads a table.
    ///
    /// # Errors
    /// The bytes end too early, or a name is not UTF-8.
    pub fn decode(bytes: &[u8]) -> Result<Self, WordsError> {
        let unreadable =
            || WordsError::Unreadable { bytes: bytes.len(), why: "a table of a second is cut off".to_owned() };
        Self::read(&mut Reader(bytes)).ok_or_else(unreadable)
    }

    fn read(reader: &mut Reader<'_>) -> Option<Self> {
        let mut table = Self::default();
        for _ in 0..reader.number::<4>()? {
            let name = reader.name()?;
            let length = reader.number::<4>()? as usize;
            table.distributions.insert(name, reader.bytes(length)?.to_vec());
        }
        for _ in 0..reader.number::<4>()? {
            let name = reader.name()?;
            table.counters.insert(name, reader.number::<8>()?);
        }
        Some(table)
    }
}

/// The bytes that are left.
struct Reader<'b>(&'b [u8]);

impl<'b> Reader<'b> {
    fn bytes(&mut self, length: usize) -> Option<&'b [u8]> {
        let (bytes, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(bytes)
    }

    /// A number of at most 8 bytes.
    fn number<const BYTES: usize>(&mut self) -> Option<u64> {
        let mut whole = [0; 8];
        whole.get_mut(..BYTES)?.copy_from_slice(self.bytes(BYTES)?);
        Some(u64::from_le_bytes(whole))
    }

    fn name(&mut self) -> Option<String> {
        let length = self.number::<2>()? as usize;
        String::from_utf8(self.bytes(length)?.to_vec()).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn tables_are_read_as_written_and_what_is_cut_off_is_refused(
            distributions in prop::collection::btree_map(".{0,12}", prop::collection::vec(any::<u8>(), 0..40), 0..6),
            counters in prop::collection::btree_map(".{0,12}", any::<u64>(), 0..6),
            cut in any::<prop::sample::Index>(),
            added in prop::collection::vec(any::<u8>(), 0..9),
        ) {
            let table = Table { distributions, counters };
            let bytes = table.encode();
            prop_assert!(Table::decode(&bytes[..cut.index(bytes.len())]).is_err());
            prop_assert_eq!(Table::decode(&[bytes, added].concat()), Ok(table));
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            let _ = Table::decode(&bytes);
        }
    }
}
