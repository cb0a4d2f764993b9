//! Output to stdout.

use brunt_lab::Error;
use serde::Serialize;
use std::io::{self, Write};

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

pub(super) fn print_json(value: &impl Serialize) -> Result<(), Error> {
    let text = serde_json::to_string_pretty(value).map_err(|error| Error::Failed(error.to_string()))?;
    Ok(print(&format!("{text}\n"))?)
}
