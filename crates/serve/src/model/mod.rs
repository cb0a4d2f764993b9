//! The server models: ways to do the I/O of one service.

pub(crate) mod ours;
pub(crate) mod tokio;

use std::{fmt, str::FromStr};

/// A way to do the I/O of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Model {
    /// Our runtime on io_uring, one thread a core.
    Uring,
    /// Our runtime on epoll, one thread a core.
    Epoll,
    /// Tokio: its current-thread runtime on one core, its multi-thread runtime on several.
    Tokio,
}

impl Model {
    /// All models with the word each is called by.
    pub const ALL: [(Self, &str); 3] = [(Self::Uring, "uring"), (Self::Epoll, "epoll"), (Self::Tokio, "tokio")];
}

impl fmt::Display for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = Self::ALL.iter().find(|(model, _)| model == self).map_or("", |(_, word)| word);
        f.write_str(word)
    }
}

impl FromStr for Model {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.iter().find(|(_, word)| *word == text).map(|(model, _)| *model);
        found.ok_or_else(|| {
            let words = Self::ALL.map(|(_, word)| word).join(", ");
            format!("'{text}' is no server model; choose one of {words}")
        })
    }
}
