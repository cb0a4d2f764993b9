//! The swept values that a line can be drawn over: numbers whose order and distance mean something to a server.

use crate::report::Row;
use brunt_results::{Count, Rate};

/// One of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Axis {
    /// Requests per second offered over all connections; closed loops have no place on it.
    Rate,
    /// Connections over all cores of the generator.
    Connections,
    /// Cores of the server.
    ServerCores,
}

impl Axis {
    /// All, the one first that a reader most likely asks for where several vary.
    pub const ALL: [Self; 3] = [Self::Rate, Self::Connections, Self::ServerCores];

    /// Its name among the settings of a cell, where a total and an amount per core are one.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rate => "rate",
            Self::Connections => "connections",
            Self::ServerCores => "server_cores",
        }
    }

    /// What stands below it, and in titles.
    pub fn label(self) -> &'static str {
        match self {
            Self::Rate => "offered rate, req/s",
            Self::Connections => "connections",
            Self::ServerCores => "server cores",
        }
    }

    /// Its name in a title.
    pub fn title(self) -> &'static str {
        if self == Self::Rate { "offered rate" } else { self.label() }
    }

    /// Where a row stands on it.
    pub fn value(self, row: &Row) -> Option<f64> {
        let value = match self {
            Self::Rate => row.cell.rate()?,
            Self::Connections => row.cell.connections() as f64,
            Self::ServerCores => row.cell.placement.server.count() as f64,
        };
        value.is_finite().then_some(value)
    }

    /// A value as plans spell it.
    pub fn tick(self, value: f64) -> String {
        match self {
            Self::Rate => Rate(value).to_string(),
            Self::Connections | Self::ServerCores => Count(value as u64).to_string(),
        }
    }

    /// Whether proportion is the question, so that the axis must begin at zero and be linear.
    pub fn starts_at_zero(self) -> bool {
        self == Self::ServerCores
    }
}
