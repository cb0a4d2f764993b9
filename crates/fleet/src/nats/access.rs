//! The file with which a machine joins a fleet: where its NATS server is, and a key.
//!
//! Invariant: the secret half of a key is in no log, message or argument; the file is of its owner alone.

use super::FleetError;
use nkeys::KeyPair;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

/// How to join a fleet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Access {
    /// URL of the NATS server.
    pub url: String,
    /// By it the NATS server knows the user; orders are signed with that of an operator.
    pub key: Key,
    /// The agent whose key it is, or `NAME-*` of those of a launch; none of an operator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Public keys of the operators, whose orders an agent obeys.
    pub operators: Vec<String>,
    /// The certificate by which the NATS server is known, as PEM; without it there is no TLS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certificate: Option<String>,
}

/// An nkey of a user: the seed of an Ed25519 key. It is not shown.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Key(String);

impl Key {
    /// A new one.
    ///
    /// # Errors
    /// There are no random numbers.
    pub fn new() -> io::Result<Self> {
        KeyPair::new_user().seed().map(Self).map_err(io::Error::other)
    }

    /// The public half, as text.
    ///
    /// # Errors
    /// It is no seed of a user.
    pub fn public(&self) -> Result<String, String> {
        Ok(self.pair()?.public_key())
    }

    pub(super) fn seed(&self) -> String {
        self.0.clone()
    }

    pub(super) fn pair(&self) -> Result<KeyPair, String> {
        KeyPair::from_seed(&self.0).map_err(|_| "\"key\" is no nkey of a user, which begins with SU".to_owned())
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key")
    }
}

impl Access {
    /// Reads the file.
    ///
    /// # Errors
    /// It is not there, or no such file.
    pub fn read(path: &Path) -> Result<Self, FleetError> {
        let error = |why: String| FleetError::Access { path: path.display().to_string(), why };
        let text = fs::read_to_string(path)
            .map_err(|why| error(format!("{why}: 'brunt fleet up' and 'brunt fleet key' write such a file")))?;
        Self::of_text(&text).map_err(error)
    }

    /// Reads the text of such a file.
    ///
    /// # Errors
    /// It is none; one line, without the text.
    pub fn of_text(text: &str) -> Result<Self, String> {
        let access: Self = serde_json::from_str(text)
            .map_err(|why| format!("it is no file of 'brunt fleet up' ({why}): copy it again"))?;
        access.key.public()?;
        Ok(access)
    }

    /// Writes the file, for its owner alone.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        let text = serde_json::to_string_pretty(self).map_err(io::Error::other)? + "\n";
        write_secret(path, &text)
    }
}

/// Writes a file for its owner alone, instead of one that is there.
///
/// # Errors
/// It cannot be written.
pub fn write_secret(path: &Path, text: &str) -> io::Result<()> {
    let temporary = path.with_extension("new");
    let _ = fs::remove_file(&temporary);
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&temporary)?;
    file.write_all(text.as_bytes())?;
    fs::rename(&temporary, path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn files_are_read_as_written_by_their_owner_alone_and_show_no_key() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("a.fleet");
        let key = Key::new().unwrap();
        let operators = vec![key.public().unwrap()];
        let access = Access {
            url: "nats://10.0.0.5:4222".to_owned(),
            key,
            operators,
            agent: Some("a".to_owned()),
            certificate: None,
        };
        access.write(&path).unwrap();
        access.write(&path).unwrap();
        assert_eq!(Access::read(&path).unwrap(), access);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(!format!("{access:?}").contains(&access.key.seed()), "{access:?}");
        for (text, needle) in
            [("{}", "missing field"), ("", "no file of"), (r#"{"url":"","key":"SU7","operators":[]}"#, "no nkey")]
        {
            fs::write(&path, text).unwrap();
            let why = Access::read(&path).unwrap_err().to_string();
            assert!(why.contains(needle) && why.contains("a.fleet") && !why.contains("SU7"), "{why}");
        }
        assert!(Access::read(&home.path().join("b")).unwrap_err().to_string().contains("brunt fleet up"));
    }
}
