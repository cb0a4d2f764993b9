//! Why a run ended before its future.

use crate::sim_kernel::Entry;
use std::{error::Error, fmt};

/// Why a run ended before its future.
#[derive(Clone)]
pub struct Stopped {
    pub(super) text: String,
}

/// As `Display`, so that `unwrap` shows lines as lines.
impl fmt::Debug for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Stopped {
    pub(super) fn new<'a>(mut text: String, recent: impl Iterator<Item = &'a Entry>) -> Self {
        text += "\nlast events:";
        recent.for_each(|entry| text += &format!("\n  {entry}"));
        Self { text }
    }
}

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Error for Stopped {}
