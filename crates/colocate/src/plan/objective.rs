//! `p99<6ms` as an [`Objective`].

use crate::objective::Objective;
use brunt_results::Slo;
use serde::de::{Deserialize, Deserializer, Error};

pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Objective, D::Error> {
    let slo: Slo = String::deserialize(deserializer)?.parse().map_err(D::Error::custom)?;
    let (quantile, limit) = slo.quantile().map_err(D::Error::custom)?;
    Ok(Objective { quantile, limit_ms: limit.0.as_secs_f64() * 1e3 })
}
