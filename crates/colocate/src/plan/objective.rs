//! `p99<6ms` as an [`Objective`].

use crate::objective::Objective;
use brunt_results::Slo;
use brunt_results::latency::share_beyond;
use serde::de::{Deserialize, Deserializer, Error};

pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Objective, D::Error> {
    let text = String::deserialize(deserializer)?;
    let slo: Slo = text.parse().map_err(D::Error::custom)?;
    let [condition] = slo.conditions() else {
        return Err(D::Error::custom(format!("'{text}' has several conditions: one is possible, such as p99<6ms")));
    };
    let beyond = share_beyond(&condition.figure)
        .ok_or_else(|| D::Error::custom(format!("'{text}' bounds no percentile: write one such as p99<6ms")))?;
    Ok(Objective { quantile: 1.0 - beyond, limit_ms: condition.bound / 1e3 })
}
