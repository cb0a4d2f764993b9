//! File system errors that name their file.

use std::{io, path::Path};

/// Adds the path to an error's message; for `map_err`.
pub(crate) fn with_path(path: &Path) -> impl Fn(io::Error) -> io::Error + Copy {
    move |error| io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}
