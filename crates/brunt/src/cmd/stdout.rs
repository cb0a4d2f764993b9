//! Output to stdout and to files.

use brunt_results::Error;
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

/// Tests that a file can be written, before anything is measured. Leaves an existing one as it is.
pub(super) fn check_writable(path: Option<&Path>) -> Result<(), Error> {
    let Some(path) = path else { return Ok(()) };
    let is_new = !path.exists();
    let opened = fs::OpenOptions::new().append(true).create(true).open(path);
    opened.map_err(|error| Error::Usage(format!("cannot write to {}: {error}", path.display())))?;
    if is_new {
        let _ = fs::remove_file(path);
    }
    Ok(())
}

/// Writes a page, if there is a file for it, and says where it is.
pub(super) fn write_page(path: Option<&Path>, page: impl FnOnce() -> Result<String, Error>) -> Result<(), Error> {
    let Some(path) = path else { return Ok(()) };
    write_file(path, &page()?)?;
    let _ = writeln!(io::stderr(), "page: {}", path.display());
    Ok(())
}

/// Writes a file; the error names it.
pub(super) fn write_file(path: &Path, text: &str) -> Result<(), Error> {
    fs::write(path, text).map_err(|error| Error::Failed(format!("cannot write to {}: {error}", path.display())))
}
