//! The layouts of the printed table.

use crate::suggest::did_you_mean;
use serde::{Deserialize, Serialize};
use std::str::FromStr;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Style {
    /// All figures, a row for each cell.
    #[default]
    Plain,
    /// Rate, mean latency and CPU; a block for each server and load, a row for each step of the load.
    PingPong,
    /// Rate, percentiles relative to the median, memory and CPU; a numbered case for each tester and server.
    Upstreams,
}

impl Style {
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
