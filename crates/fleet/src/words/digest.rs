//! The digest by which a table, or all that a journal has, is known to be whole: 64-bit FNV-1a, as 16 hexadecimal digits.

use fnv::FnvHasher;
use std::hash::Hasher as _;

/// Of what was written so far.
#[derive(Default)]
pub(crate) struct Digest(FnvHasher);

impl Digest {
    pub fn write(&mut self, bytes: &[u8]) {
        self.0.write(bytes);
    }

    pub fn text(&self) -> String {
        format!("{:016x}", self.0.finish())
    }

    /// That of these bytes.
    pub fn of(bytes: &[u8]) -> String {
        let mut digest = Self::default();
        digest.write(bytes);
        digest.text()
    }
}
