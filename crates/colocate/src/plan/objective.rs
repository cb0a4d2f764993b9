//! `p99<6ms` as an [`Objective`].

use crate::objective::Objective;
use brunt_results::Slo;
use brunt_results::latency::share_beyond;
use serde::de::{Deserialize, Deserializer, Error};

pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Objective, D::Error> {
    let text = String::deserialize(deserializer)?;
    let figure = text.split(['<', '>']).next().unwrap_or_default().trim();
    if share_beyond(figure).is_none() {
        let why = format!("'{text}' is not a limit of one percentile above 0 and below 100; write one as in p99<6ms");
        return Err(D::Error::custom(why));
    }
    let slo: Slo = text.parse().map_err(D::Error::custom)?;
    let (quantile, limit) = slo.quantile().map_err(D::Error::custom)?;
    if limit.0.is_zero() {
        return Err(D::Error::custom(format!("'{text}': no request takes no time; write a limit as in p99<6ms")));
    }
    Ok(Objective { quantile, limit_ms: limit.0.as_secs_f64() * 1e3 })
}
