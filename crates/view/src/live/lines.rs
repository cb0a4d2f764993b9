//! A load in lines, for where there is no screen.

use super::model::Model;
use crate::progress::Describer;

/// What was told last.
#[derive(Debug, Default)]
pub struct Lines {
    name: Option<String>,
    at_s: f64,
}

impl Lines {
    /// What is new since the call before, each line ending in a newline: the name of another trial, the last second.
    pub fn told(&mut self, model: &Model) -> String {
        let mut told = String::new();
        if model.name() != self.name.as_deref() {
            (self.name, self.at_s) = (model.name().map(str::to_owned), 0.0);
            told += &format!("{}\n", model.name().unwrap_or_default());
        }
        if let Some(line) = model.last().filter(|line| line.at_s != self.at_s) {
            self.at_s = line.at_s;
            told += &format!("{}\n", Describer::from(model.end_s(), model.before()).describe(line));
        }
        told
    }
}
