//! The models on which every service runs.

use std::{fmt, str::FromStr};

/// A way to do the I/O of a server that every service supports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Model {
    /// brunt's runtime on io_uring, a thread per core.
    Uring,
    /// brunt's runtime on epoll, a thread per core.
    Epoll,
    /// Tokio: the current-thread runtime on one core, the multi-thread runtime on several.
    Tokio,
}

impl Model {
    /// All models with their words.
    pub const ALL: [(Self, &str); 3] = [(Self::Uring, "uring"), (Self::Epoll, "epoll"), (Self::Tokio, "tokio")];

    pub fn word(self) -> &'static str {
        match self {
            Self::Uring => "uring",
            Self::Epoll => "epoll",
            Self::Tokio => "tokio",
        }
    }
}

impl fmt::Display for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl FromStr for Model {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.iter().find(|(_, word)| *word == text).map(|(model, _)| *model);
        found.ok_or_else(|| {
            let words = Self::ALL.map(|(_, word)| word).join(", ");
            format!("'{text}' is no model of this service; choose one of {words}")
        })
    }
}
