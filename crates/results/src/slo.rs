//! Service level objectives made of bounds, as in `--slo 'p99<6ms,errors<0.1%'`.

use crate::figure::Better;
use crate::judge::values_needed;
use crate::latency::share_beyond;
use crate::threshold::{Threshold, bounds};
use crate::{result::RunResult, units::Span};
use std::{fmt, str::FromStr, time::Duration};

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
            if condition.name.is_some() {
                return Err(format!("'{part}' is about a part of the load; an objective is about the whole"));
            }
            // A figure that is to be high, such as a rate, needs a lower bound, all others an upper bound.
            let is_high = condition.entry().is_some_and(|one| one.better == Better::Higher);
            match (is_high, condition.is_above) {
                (true, true) | (false, false) => Ok(condition),
                (true, false) => Err(format!("'{part}' is not an objective; write {}>BOUND", condition.figure)),
                (false, true) => Err(format!("'{part}' is not an objective; write {}<BOUND", condition.figure)),
            }
        };
        let conditions = bounds(text).map(condition).collect::<Result<_, String>>()?;
        Ok(Self { conditions })
    }
}

impl Slo {
    pub fn conditions(&self) -> &[Threshold] {
        &self.conditions
    }

    /// The conditions that the result violates, one sentence each. A condition on an absent figure is violated. Failed
    /// requests violate the SLO unless a condition on `errors` or `failed` allows them.
    pub fn violations(&self, result: &RunResult) -> Vec<String> {
        let mut violations: Vec<String> =
            self.conditions.iter().filter_map(|condition| condition.missed(result)).collect();
        let failed = result.failures();
        if failed > 0 && !self.conditions.iter().any(Threshold::counts_failures) {
            violations.push(format!("no errors: {failed} of the requests failed ({})", result.failure_words()));
        }
        violations
    }

    /// The first condition on a figure that the result does not have.
    pub fn unrecorded(&self, result: &RunResult) -> Option<&Threshold> {
        self.conditions.iter().find(|condition| condition.value(result).is_none())
    }

    /// The quantile, between 0 and 1, and its limit, if the only condition is on a percentile.
    ///
    /// # Errors
    /// It has other conditions.
    pub fn quantile(&self) -> Result<(f64, Span), String> {
        match &*self.conditions {
            [one] if share_beyond(&one.figure).is_some() => {
                let share = share_beyond(&one.figure).unwrap_or_default();
                Ok((1.0 - share, Span(Duration::from_nanos((one.bound * 1e3) as u64))))
            }
            _ => Err(format!("'{self}' is not a limit of one percentile; write one as in p99<6ms")),
        }
    }

    /// The smallest share of late requests that a condition on a percentile allows.
    pub fn strictest_share(&self) -> Option<f64> {
        self.conditions.iter().filter_map(|condition| share_beyond(&condition.figure)).reduce(f64::min)
    }

    /// Requests needed for the highest percentile in a condition: n (1 - q) >= 10.
    pub fn min_requests(&self) -> u64 {
        let beyond = |condition: &Threshold| share_beyond(&condition.figure).unwrap_or(0.5);
        self.conditions.iter().map(|condition| values_needed(beyond(condition))).max().unwrap_or(0)
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
    use crate::threshold::tests::result;

    #[test]
    fn every_condition_must_hold_and_errors_violate_by_default() {
        let slo: Slo = "p99<6ms, errors<0.1%".parse().unwrap();
        assert_eq!(slo.to_string(), "p99<6ms,errors<0.1%");
        assert_eq!(slo.violations(&result(Some(5_999.0), 9)), Vec::<String>::new());
        assert_eq!(slo.violations(&result(Some(6_000.0), 10)).len(), 2);
        assert_eq!(slo.violations(&result(None, 0)), ["p99<6ms: no value was recorded"]);
        assert_eq!(slo.min_requests(), 1000);
        assert!(slo.quantile().unwrap_err().contains("p99<6ms,errors<0.1%"));
        assert_eq!("p99 < 6ms".parse::<Slo>().unwrap().quantile(), Ok((0.99, Span(Duration::from_millis(6)))));
        assert!("rate>5k".parse::<Slo>().unwrap().quantile().is_err());
        assert_eq!("p50<1ms,p99.9<9ms".parse::<Slo>().unwrap().min_requests(), 10_000);
        let slo: Slo = "p99<6ms".parse().unwrap();
        assert!(slo.violations(&result(Some(1.0), 0)).is_empty());
        let mut unanswered = result(Some(1.0), 0);
        unanswered.requests.abandoned = 20;
        assert!(slo.violations(&unanswered).is_empty(), "in flight at the end of a closed loop");
        unanswered.requests.offered_rate = Some(1000.0);
        assert!(slo.violations(&unanswered)[0].contains("20 unanswered"));
        let bound = |text: &str| text.parse::<Threshold>().unwrap().crossed(&unanswered).is_some();
        assert!(bound("failed>19") && !bound("failed>20") && bound("errors>0.1%") && !bound("errors>0.2%"));
        assert!(slo.violations(&result(Some(1.0), 1))[0].contains("1 timeout"));
    }
}
