//! The figures of a trial in the index.

use brunt_results::Figure;
use brunt_results::figure::{self, in_order};
use rusqlite::Row;
use serde::{Serialize, Serializer, ser::SerializeMap as _};

/// The order of keys before there was a table of figures.
const ORDER: [&str; 13] = [
    "rate",
    "offered_rate",
    "completed",
    "failed",
    "errors",
    "mean",
    "p50",
    "p90",
    "p95",
    "p99",
    "p99.9",
    "max",
    "cost",
];

/// The figures of the index with the names of their columns.
pub(super) fn indexed() -> impl Iterator<Item = (&'static str, &'static Figure)> {
    let figures = in_order(&ORDER, |figure| figure.indexed.is_some());
    figures.into_iter().filter_map(|figure| Some((figure.indexed.as_ref()?.column, figure)))
}

/// Absent ones are `None`.
#[derive(Debug, Clone, PartialEq)]
pub struct Figures(Vec<(&'static Figure, Option<f64>)>);

impl Figures {
    pub(super) fn of(row: &Row) -> rusqlite::Result<Self> {
        indexed().map(|(column, figure)| Ok((figure, row.get(column)?))).collect::<rusqlite::Result<_>>().map(Self)
    }

    /// Whether the time is a lower bound.
    pub fn is_bound(&self, figure: &Figure) -> bool {
        let share = self.get(&figure::CENSORED).unwrap_or(0.0) / 100.0;
        figure.is_response() && share > 0.0 && figure.quantile().is_none_or(|quantile| quantile > 1.0 - share)
    }

    /// In the unit of the figure.
    pub fn get(&self, figure: &Figure) -> Option<f64> {
        self.0.iter().find(|(one, _)| *one == figure)?.1
    }
}

/// By the names of the columns.
impl Serialize for Figures {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (figure, value) in &self.0 {
            let Some(indexed) = &figure.indexed else { continue };
            match value {
                Some(value) if figure.unit.is_whole() => map.serialize_entry(indexed.column, &(*value as u64))?,
                value => map.serialize_entry(indexed.column, value)?,
            }
        }
        map.end()
    }
}
