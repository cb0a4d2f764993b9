//! A bound on a figure, as in `--fail-if 'p99>5ms'`.

use crate::result::RunResult;
use crate::units::{Count, Rate, Span, UnitError};
use std::{fmt, str::FromStr};

/// A figure of the result, a comparison and a bound.
#[derive(Debug, Clone, PartialEq)]
pub struct Threshold {
    text: String,
    pub figure: String,
    pub is_above: bool,
    /// Microseconds for times, requests per second for `rate`, percent for `errors`, requests for `failed`.
    pub bound: f64,
}

const FIGURES: &str = "mean, p50, p90, p99, p99.9, max (response time, with a unit as in p99>5ms), rate, cost (the \
                       server's CPU time for a request, as in cost>20us), failed, errors (share of the requests, as in \
                       errors>0.1%)";

impl FromStr for Threshold {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong =
            |reason: &str| format!("'{text}' {reason}; write FIGURE>BOUND or FIGURE<BOUND with one of {FIGURES}");
        let at = text.find(['<', '>']).ok_or_else(|| wrong("has no < or >"))?;
        let (figure, rest) = (text[..at].trim(), text[at + 1..].trim());
        let bound = match figure {
            "mean" | "p50" | "p90" | "p99" | "p99.9" | "p999" | "max" | "cost" => {
                rest.parse().map(|Span(bound)| bound.as_nanos() as f64 / 1e3)
            }
            "rate" => rest.parse().map(|Rate(bound)| bound),
            "failed" => rest.parse().map(|Count(bound)| bound as f64),
            "errors" => percent(rest),
            _ => return Err(wrong("names no known figure")),
        };
        let bound = bound.map_err(|error| wrong(&format!("has a bad bound ({error})")))?;
        Ok(Self { text: text.to_owned(), figure: figure.to_owned(), is_above: text.as_bytes()[at] == b'>', bound })
    }
}

impl Threshold {
    /// A message if the comparison is true of the result. An absent figure counts as true: a check that cannot be made must
    /// not pass.
    pub fn crossed(&self, result: &RunResult) -> Option<String> {
        self.message_unless(false, result)
    }

    /// A message if the comparison is not true of the result, for bounds that must hold. An absent figure counts as not
    /// true.
    pub fn missed(&self, result: &RunResult) -> Option<String> {
        self.message_unless(true, result)
    }

    fn message_unless(&self, wanted: bool, result: &RunResult) -> Option<String> {
        let (value, unit) = self.value(result);
        let Some(value) = value else {
            return Some(format!("{self}: no value was recorded"));
        };
        let is_so = if self.is_above { value > self.bound } else { value < self.bound };
        (is_so != wanted).then(|| match unit {
            "%" => format!("{self}: it was {value:.3} %"),
            unit => format!("{self}: it was {value:.1} {unit}"),
        })
    }

    fn value(&self, result: &RunResult) -> (Option<f64>, &'static str) {
        let (completed, failed) = (result.requests.completed as f64, result.requests.failed as f64);
        match self.figure.as_str() {
            "rate" => (Some(result.requests.rate), "requests/s"),
            "cost" => (result.server.cpu_us_per_request, "us"),
            "failed" => (Some(failed), "requests"),
            "errors" => (Some(100.0 * failed / (completed + failed)).filter(|share| share.is_finite()), "%"),
            figure => (result.latency.response.figure(figure).flatten(), "us"),
        }
    }
}

/// `0.1%` as 0.1.
fn percent(text: &str) -> Result<f64, UnitError> {
    let value = text.strip_suffix('%').and_then(|number| number.trim().parse().ok());
    let value = value.filter(|value| (0.0..=100.0).contains(value));
    value.ok_or_else(|| UnitError::new(text, "a share such as 0.1%"))
}

impl fmt::Display for Threshold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn valid_thresholds_parse_and_errors_name_the_accepted_forms() {
        for text in ["p99", "p98>5ms", "p99>5", "rate<x", "errors>0.1", "errors>101%", ">", ""] {
            let error = text.parse::<Threshold>().unwrap_err();
            assert!(error.contains(&format!("'{text}'")) && error.contains("FIGURE>BOUND"), "{error}");
        }
        for text in ["p99>5ms", "rate < 10k", "cost>20us", "failed>0", "p99.9>1s", "errors > 0.1%"] {
            text.parse::<Threshold>().unwrap();
        }
    }
}
