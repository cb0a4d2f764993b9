//! What is known of one target.

use super::line::CostLine;
use super::points::Point;
use serde::{Deserialize, Serialize};

/// One target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TargetCost {
    pub target: String,
    /// In ascending order of the rate.
    pub points: Vec<Point>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<CostLine>,
    /// Of a target with something behind it: what listens, and what stands behind it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<PartCost>,
    /// Why there is no line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_line: Option<String>,
    /// CPU time while other targets had the load, in microseconds a second; absent where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_us_per_s: Option<f64>,
}

/// A part of a target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PartCost {
    /// `listener` or `behind`.
    pub part: String,
    pub line: CostLine,
}
