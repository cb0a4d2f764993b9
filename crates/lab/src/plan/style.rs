//! The layouts of the printed table.

use crate::suggest::did_you_mean;
use serde::{Deserialize, Serialize};
use std::str::FromStr;

/// A layout.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Style {
    /// A row for each cell, every figure.
    #[default]
    Plain,
    /// A block for each server and load, a row for each step of the load: rate, mean latency, CPU.
    PingPong,
    /// A numbered case for each tester and server: rate, percentiles held against the median, memory, CPU.
    Upstreams,
}

impl Style {
    /// Every layout by its name.
    pub const ALL: [(&'static str, Self); 3] =
        [("plain", Self::Plain), ("ping-pong", Self::PingPong), ("upstreams", Self::Upstreams)];
}

impl FromStr for Style {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let names = Self::ALL.map(|(name, _)| name);
        let known = Self::ALL.into_iter().find(|(name, _)| *name == text);
        known.map(|(_, style)| style).ok_or_else(|| format!("'{text}' is not a style{}", did_you_mean(text, &names)))
    }
}
