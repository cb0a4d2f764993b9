//! Percentiles of one's choice, by name: `p99.99`.

use crate::units::UnitError;
use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};

/// A percentage above 0 and below 100, with at most six decimals: in millionths of a percent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "Named", into = "String")]
pub struct Percentile(u32);

const PERCENT: f64 = 1e6;

impl Percentile {
    /// The value that this share of all values does not exceed, between 0 and 1.
    pub fn quantile(self) -> f64 {
        self.percentage() / 100.0
    }

    /// The share of values beyond it, between 0 and 1.
    pub fn share_beyond(self) -> f64 {
        (100.0 * PERCENT - f64::from(self.0)) / (100.0 * PERCENT)
    }

    /// Between 0 and 100.
    pub fn percentage(self) -> f64 {
        f64::from(self.0) / PERCENT
    }
}

/// Percentages without their `p`, separated by commas.
pub fn list(percentiles: &[Percentile]) -> String {
    percentiles.iter().map(|percentile| percentile.percentage().to_string()).collect::<Vec<_>>().join(",")
}

impl FromStr for Percentile {
    type Err = UnitError;

    /// `99.9` or `p99.9`; `p999` is the same.
    fn from_str(text: &str) -> Result<Self, UnitError> {
        let wrong = || UnitError::new(text, "a percentile such as 95 or p99.99, above 0 and below 100");
        let number = text.trim().strip_prefix('p').unwrap_or(text.trim());
        if text.trim() == "p999" {
            return "99.9".parse();
        }
        let is_plain = number.chars().all(|c| c.is_ascii_digit() || c == '.');
        let decimals = number.split_once('.').map_or(0, |(_, decimals)| decimals.len());
        let value: f64 = number.parse().map_err(|_| wrong())?;
        (is_plain && decimals <= 6 && value > 0.0 && value < 100.0)
            .then(|| Self((value * PERCENT).round() as u32))
            .ok_or_else(wrong)
    }
}

impl fmt::Display for Percentile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "p{}", self.percentage())
    }
}

impl From<Percentile> for String {
    fn from(value: Percentile) -> Self {
        value.to_string()
    }
}

/// As in a plan: `[95, "p99.99"]`.
#[derive(Deserialize)]
#[serde(untagged)]
enum Named {
    Number(f64),
    Text(String),
}

impl TryFrom<Named> for Percentile {
    type Error = UnitError;

    fn try_from(named: Named) -> Result<Self, UnitError> {
        match named {
            Named::Number(number) => number.to_string().parse(),
            Named::Text(text) => text.parse(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_parse_and_print_by_name() {
        for (text, name, beyond) in [
            ("50", "p50", 0.5),
            ("p95", "p95", 0.05),
            (" 99.9", "p99.9", 0.001),
            ("p999", "p99.9", 0.001),
            ("99.99", "p99.99", 0.0001),
            ("0.5", "p0.5", 0.995),
        ] {
            let percentile: Percentile = text.parse().unwrap();
            assert_eq!((percentile.to_string(), percentile.share_beyond()), (name.to_owned(), beyond));
        }
        for text in ["", "p", "0", "100", "-1", "1e1", "99.1234567", "NaN", "pp5", "p9999", "5%"] {
            assert!(text.parse::<Percentile>().unwrap_err().to_string().contains("p99.99"), "{text}");
        }
        let all: Vec<Percentile> = serde_json::from_str(r#"[95, "p99.99", 99.5]"#).unwrap();
        assert_eq!(serde_json::to_string(&all).unwrap(), r#"["p95","p99.99","p99.5"]"#);
    }
}
