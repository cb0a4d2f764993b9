//! The word for a backend on the command lines of the examples.

use brunt_runtime::BackendKind;

/// `uring` or `epoll`; by default the best one.
pub fn backend(word: Option<&str>) -> Result<Option<BackendKind>, String> {
    match word {
        None => Ok(None),
        Some("uring") => Ok(Some(BackendKind::Uring)),
        Some("epoll") => Ok(Some(BackendKind::Epoll)),
        Some(other) => Err(format!("'{other}' is not a backend; write uring or epoll")),
    }
}
