//! Settings that can be the x axis of a line chart.

use crate::report::Row;
use brunt_results::{Count, Rate};
use serde::Deserialize;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Axis {
    /// Requests per second over all connections; closed loops have none.
    Rate,
    /// Over all cores of the generator.
    Connections,
    ServerCores,
}

impl Axis {
    /// In order of preference if several vary.
    pub const ALL: [Self; 3] = [Self::Rate, Self::Connections, Self::ServerCores];

    pub fn name(self) -> &'static str {
        match self {
            Self::Rate => "rate",
            Self::Connections => "connections",
            Self::ServerCores => "server_cores",
        }
    }

    pub fn label(self) -> &'static str {
        match self {
            Self::Rate => "offered rate, req/s",
            Self::Connections => "connections",
            Self::ServerCores => "server cores",
        }
    }

    pub fn title(self) -> &'static str {
        if self == Self::Rate { "offered rate" } else { self.label() }
    }

    pub fn value(self, row: &Row) -> Option<f64> {
        let value = match self {
            Self::Rate => row.cell.rate()?,
            Self::Connections => row.cell.connections() as f64,
            Self::ServerCores => row.cell.placement.server.count() as f64,
        };
        value.is_finite().then_some(value)
    }

    pub fn tick(self, value: f64) -> String {
        match self {
            Self::Rate => Rate(value).to_string(),
            Self::Connections | Self::ServerCores => Count(value as u64).to_string(),
        }
    }

    pub fn starts_at_zero(self) -> bool {
        self == Self::ServerCores
    }
}
