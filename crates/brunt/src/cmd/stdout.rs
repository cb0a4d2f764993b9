//! Output to stdout and to files.

use brunt_lab::Error;
use serde::Serialize;
use std::io::{self, Write};
use std::{fs, path::Path};

/// Prints and flushes. A closed pipe (`brunt run quick | head -1`) is not an error.
pub(super) fn print(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(io::Error::new(error.kind(), format!("cannot write to stdout: {error}")))
        }
        _ => Ok(()),
    }
}

/// Prints a value as JSON, or as its text.
pub(super) fn print_as<T: Serialize>(json: bool, value: &T, text: impl FnOnce(&T) -> String) -> Result<(), Error> {
    if !json {
        return Ok(print(&text(value))?);
    }
    let text = serde_json::to_string_pretty(value).map_err(|error| Error::Failed(error.to_string()))?;
    Ok(print(&format!("{text}\n"))?)
}

/// Writes a file; the error names it.
pub(super) fn write_file(path: &Path, text: &str) -> Result<(), Error> {
    fs::write(path, text).map_err(|error| Error::Failed(format!("cannot write to {}: {error}", path.display())))
}
