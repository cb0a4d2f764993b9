//! The choices of a fake kernel, made beforehand, so that a failing case can be run again and made smaller.
//!
//! Zero is always the kindest choice, and after the last one everything is kind: the shortest script that fails names the
//! surprise that matters.

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

    /// A number below `among`.
    pub fn pick(&mut self, among: usize) -> usize {
        if among < 2 { 0 } else { usize::from(self.choice()) % among }
    }

    /// True once in so many times.
    pub fn rarely(&mut self, one_in: u8) -> bool {
        self.choice() % one_in == one_in - 1
    }
}
