//! The choices of a simulated kernel, made in advance so that a failing case can be replayed and shrunk.
//!
//! Zero is always the mildest choice, also after the last byte: the shortest failing script shows the event that matters.

use std::{fmt, vec};

#[derive(Clone, Default)]
pub(crate) struct Script(vec::IntoIter<u8>);

impl Script {
    pub fn new(choices: Vec<u8>) -> Self {
        Self(choices.into_iter())
    }

    fn choice(&mut self) -> u8 {
        self.0.next().unwrap_or(0)
    }

    /// A number below `among`; 0 without consuming a choice if there is no alternative.
    pub fn pick(&mut self, among: usize) -> usize {
        if among < 2 { 0 } else { usize::from(self.choice()) % among }
    }

    /// True once in `one_in` values.
    pub fn rarely(&mut self, one_in: u8) -> bool {
        self.choice() % one_in == one_in - 1
    }
}

/// On one line, without trailing zeros, which have no effect.
impl fmt::Debug for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let len = self.0.as_slice().iter().rposition(|choice| *choice != 0).map_or(0, |last| last + 1);
        write!(f, "{:?}", &self.0.as_slice()[..len])
    }
}
