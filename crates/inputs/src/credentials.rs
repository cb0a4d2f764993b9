//! Credentials from files: they are in no argument, log or result.

use crate::usage;
use base64::prelude::{BASE64_STANDARD, Engine as _};
use brunt_results::Error;
use std::{fmt, fs, path::Path};

/// Longest file of a credential.
const LONGEST: u64 = 64 << 10;

/// The value of a field that authenticates; it is not in the output of `Debug`.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Of `NAME:PASSWORD` (RFC 7617).
    pub fn basic(pair: impl AsRef<[u8]>) -> Self {
        Self(format!("Basic {}", BASE64_STANDARD.encode(pair)))
    }

    pub fn value(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[hidden]")
    }
}

/// The value of `Authorization` (RFC 7617, RFC 6750), if there is a file for one.
pub fn authorization(pair: Option<&Path>, bearer: Option<&Path>) -> Result<Option<String>, Error> {
    Ok(match (pair, bearer) {
        (Some(file), _) => Some(basic("--basic-auth", file)?),
        (None, Some(file)) => Some(format!("Bearer {}", read("--bearer", file)?)),
        (None, None) => None,
    })
}

/// Basic credentials of the `NAME:PASSWORD` in a file.
pub fn basic(flag: &str, file: &Path) -> Result<String, Error> {
    let pair = read(flag, file)?;
    if !pair.contains(':') {
        return usage(format!("{flag} {}: the file holds no NAME:PASSWORD", file.display()));
    }
    Ok(Secret::basic(pair).0)
}

/// The one line of a file. Errors do not quote it.
fn read(flag: &str, file: &Path) -> Result<String, Error> {
    let name = file.display();
    let length = fs::metadata(file).map_err(|error| Error::Usage(format!("{flag} {name}: {error}")))?.len();
    if length > LONGEST {
        return usage(format!("{flag} {name}: the file is longer than a credential"));
    }
    let text = fs::read_to_string(file).map_err(|error| Error::Usage(format!("{flag} {name}: {error}")))?;
    let line = text.trim_end_matches(['\r', '\n']);
    if line.is_empty() || line.chars().any(char::is_control) {
        return usage(format!("{flag} {name}: the file has to hold one line, without control characters"));
    }
    Ok(line.to_owned())
}
