//! The choices of a simulated kernel, made in advance so that a failing case can be replayed and shrunk.
//!
//! Zero is always the mildest choice, also after the last byte: the shortest failing script shows the event that matters.

#[derive(Debug, Default)]
pub(crate) struct Script {
    choices: Vec<u8>,
    next: usize,
}

impl Script {
    pub fn new(choices: Vec<u8>) -> Self {
        Self { choices, next: 0 }
    }

    fn choice(&mut self) -> u8 {
        let choice = self.choices.get(self.next).copied().unwrap_or(0);
        self.next += 1;
        choice
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
