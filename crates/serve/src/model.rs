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
    pub const ALL: [(Self, &str); 3] = [(Self::Uring, "uring"), (Self::Epoll, "epoll"), (Self::Tokio, "tokio")];
}

impl fmt::Display for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(word_of(&Self::ALL, *self))
    }
}

impl FromStr for Model {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        by_word(&Self::ALL, text, "model of this service")
    }
}

/// The word of a value in a table of all values.
pub(crate) fn word_of<T: Copy + PartialEq>(table: &[(T, &'static str)], value: T) -> &'static str {
    table.iter().find(|(own, _)| *own == value).map_or("", |(_, word)| word)
}

/// The value of a word in such a table; the error lists all words.
pub(crate) fn by_word<T: Copy>(table: &[(T, &str)], text: &str, what: &str) -> Result<T, String> {
    table.iter().find(|(_, word)| *word == text).map(|(value, _)| *value).ok_or_else(|| {
        let words: Vec<_> = table.iter().map(|(_, word)| *word).collect();
        format!("'{text}' is no {what}; choose one of {}", words.join(", "))
    })
}
