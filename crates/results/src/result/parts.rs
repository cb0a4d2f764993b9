//! Figures of parts of a load, and percentiles beside those of every result.

use super::{Errors, Latency};
use crate::{LatencySummary, Percentile, hlog};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A named part of the load, such as a URL.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Named {
    pub name: String,
    #[serde(flatten)]
    pub figures: PartFigures,
}

/// A part of the window in which the offered rate, or the number of connections of a closed loop, is constant, or changes
/// little. Requests belong to it by their intended times.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Step {
    /// Seconds after the start of the window.
    pub start_s: f64,
    pub end_s: f64,
    /// Mean offered rate in it, in requests per second; `null` in a closed loop.
    pub offered_rate: Option<f64>,
    /// Mean number of connections in it; `null` where it does not change.
    #[serde(default)]
    pub connections: Option<f64>,
    #[serde(flatten)]
    pub figures: PartFigures,
}

/// Figures of a part of the load in the measured window.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PartFigures {
    /// Requests with a correct reply.
    pub completed: u64,
    pub failed: u64,
    /// Completed requests per second.
    pub rate: f64,
    pub errors: Errors,
    /// Response times, as those of the whole load.
    pub response: LatencySummary,
}

impl Latency {
    /// Adds percentiles of the distributions in `hlog`, from which the figures were taken.
    ///
    /// # Errors
    /// It is no interval log.
    pub fn add(&mut self, percentiles: &[Percentile], hlog: &[u8]) -> Result<(), String> {
        if percentiles.is_empty() {
            return Ok(());
        }
        let Self { response, service, lag, error, first_byte: _ } = self;
        for (tag, summary) in [("response", response), ("service", service), ("lag", lag), ("error", error)] {
            summary.add(percentiles, &hlog::distribution(hlog, tag)?);
        }
        Ok(())
    }
}
