//! A file that a load names, on its way from the coordinator to an agent: what it is, and its pieces, each asked for.
//!
//! Invariants:
//! - A file is known by the digest of its contents; its path is a name for messages and for what refers to it.
//! - A digest that [`File::check`] has accepted is a plain file name.

use super::Version;
use super::parts::{from_base64, to_base64};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Bytes of a piece: in base64 well below [`super::MAX_MESSAGE_BYTES`], and soon read.
pub const PIECE_BYTES: usize = 256 << 10;
/// The largest file that is sent.
pub const MAX_FILE_BYTES: u64 = 1 << 30;
/// Bytes of all files of a load, which agents keep.
pub const MAX_FILES_BYTES: u64 = 4 << 30;
/// Files of a load: an order has to have room for their names.
pub const MAX_FILES: usize = 1000;

/// A file that the coordinator has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct File {
    /// As the load names it.
    pub path: PathBuf,
    /// Its length.
    pub bytes: u64,
    /// SHA-256 of its contents, as 64 hexadecimal digits.
    pub hash: String,
}

impl File {
    /// Whether it can be fetched.
    ///
    /// # Errors
    /// It is too large, or its digest is none; one line.
    pub fn check(&self) -> Result<(), String> {
        let Self { path, bytes, hash } = self;
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        if hash.len() != 64 || !hash.bytes().all(is_digit) {
            return Err(format!("{}: its digest is none of SHA-256", path.display()));
        }
        match *bytes > MAX_FILE_BYTES {
            true => Err(format!("{} has {bytes} bytes, and at most {MAX_FILE_BYTES} are sent", path.display())),
            false => Ok(()),
        }
    }

    /// Bytes of the piece at this offset.
    pub fn piece(&self, offset: u64) -> usize {
        self.bytes.saturating_sub(offset).min(PIECE_BYTES as u64) as usize
    }
}

/// An agent asks for a piece of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wanted {
    /// Version of the messages.
    pub version: Version,
    /// Id of the run.
    pub run: String,
    /// Id of the agent.
    pub agent: String,
    /// Digest of the file.
    pub hash: String,
    /// First byte of the piece.
    pub offset: u64,
}

/// The answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Piece {
    /// Version of the messages.
    pub version: Version,
    /// Id of the run.
    pub run: String,
    /// Digest of the file.
    pub hash: String,
    /// First byte of the piece.
    pub offset: u64,
    /// The bytes: [`PIECE_BYTES`] of them, or all that are left.
    #[serde(serialize_with = "to_base64", deserialize_with = "from_base64")]
    pub data: Vec<u8>,
    /// Why there are none; one line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_digests_are_digests_and_a_file_ends_with_a_short_piece() {
        let of = |hash: &str, bytes| File { path: "p".into(), bytes, hash: hash.to_owned() };
        let digest = "0123456789abcdef".repeat(4);
        for hash in ["", "../../etc/passwd", &digest[1..], &digest.to_uppercase(), &digest.replace('0', "/")] {
            assert!(of(hash, 1).check().is_err_and(|why| why.starts_with("p: ")), "{hash}");
        }
        assert_eq!(of(&digest, MAX_FILE_BYTES).check(), Ok(()));
        assert!(of(&digest, MAX_FILE_BYTES + 1).check().is_err());
        let file = of(&digest, PIECE_BYTES as u64 + 7);
        let pieces = [0, PIECE_BYTES as u64, PIECE_BYTES as u64 + 7, u64::MAX].map(|offset| file.piece(offset));
        assert_eq!(pieces, [PIECE_BYTES, 7, 0, 0]);
    }
}
