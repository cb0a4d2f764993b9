//! Service level objectives, as `--slo 'p99<6ms,errors<0.1%'`, in the grammar of [`Threshold`].

use crate::{judge::BEYOND_QUANTILE, latency::share_beyond, result::RunResult, threshold::Threshold};
use std::{fmt, str::FromStr};

/// Conditions that must all be true. `p99<6ms` means that at most 1 % of requests take longer than 6 ms.
#[derive(Debug, Clone, PartialEq)]
pub struct Slo {
    conditions: Vec<Threshold>,
}

impl FromStr for Slo {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let condition = |part: &str| {
            let condition: Threshold = part.parse()?;
            // A rate needs a lower bound, all other figures an upper bound.
            match (condition.figure == "rate", condition.is_above) {
                (true, true) | (false, false) => Ok(condition),
                (true, false) => Err(format!("'{part}' is not an objective; write rate>BOUND")),
                (false, true) => Err(format!("'{part}' is not an objective; write {}<BOUND", condition.figure)),
            }
        };
        let conditions = text.split(',').map(|part| condition(part.trim())).collect::<Result<_, String>>()?;
        Ok(Self { conditions })
    }
}

impl Slo {
    /// The conditions that the result violates, one sentence each. A condition on an absent figure is violated. Failed
    /// requests violate the SLO unless a condition on `errors` or `failed` allows them.
    pub fn violations(&self, result: &RunResult) -> Vec<String> {
        let mut violations: Vec<String> =
            self.conditions.iter().filter_map(|condition| condition.missed(result)).collect();
        let failed = result.requests.failed.max(result.errors.total());
        if failed > 0 && !self.conditions.iter().any(|condition| matches!(&*condition.figure, "errors" | "failed")) {
            violations.push(format!("no errors: {failed} of the requests failed ({})", result.errors.words()));
        }
        violations
    }

    /// Requests needed for the highest percentile in a condition: n (1 - q) >= 10.
    pub fn min_requests(&self) -> u64 {
        let beyond = |condition: &Threshold| share_beyond(&condition.figure).unwrap_or(0.5);
        let needed = self.conditions.iter().map(|condition| BEYOND_QUANTILE / beyond(condition));
        needed.fold(0.0, f64::max).round() as u64
    }
}

impl fmt::Display for Slo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words: Vec<String> = self.conditions.iter().map(Threshold::to_string).collect();
        f.write_str(&words.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{LatencySummary, result::Requests};

    fn result(p99_us: Option<f64>, failed: u64) -> RunResult {
        let mut result = RunResult::new("test");
        result.latency.response = LatencySummary { count: 1000, p99_us, ..Default::default() };
        result.requests = Requests { completed: 10_000 - failed, failed, rate: 1000.0, ..Default::default() };
        result.errors.timeout = failed;
        result
    }

    #[test]
    fn every_condition_must_hold_and_errors_violate_by_default() {
        let slo: Slo = "p99<6ms, errors<0.1%".parse().unwrap();
        assert_eq!(slo.to_string(), "p99<6ms,errors<0.1%");
        assert_eq!(slo.violations(&result(Some(5_999.0), 9)), Vec::<String>::new());
        assert_eq!(slo.violations(&result(Some(6_000.0), 10)).len(), 2);
        assert_eq!(slo.violations(&result(None, 0)), ["p99<6ms: no value was recorded"]);
        assert_eq!(slo.min_requests(), 1000);
        assert_eq!("p50<1ms,p99.9<9ms".parse::<Slo>().unwrap().min_requests(), 10_000);
        let slo: Slo = "p99<6ms".parse().unwrap();
        assert!(slo.violations(&result(Some(1.0), 0)).is_empty());
        assert!(slo.violations(&result(Some(1.0), 1))[0].contains("1 timeout"));
    }

    #[test]
    fn inverted_conditions_are_rejected() {
        for (text, remedy) in
            [("p99>6ms", "p99<BOUND"), ("rate<5k", "rate>BOUND"), ("p99<6", "FIGURE<BOUND"), ("", "FIGURE")]
        {
            let error = text.parse::<Slo>().unwrap_err();
            assert!(error.contains(remedy), "{error}");
        }
    }
}
