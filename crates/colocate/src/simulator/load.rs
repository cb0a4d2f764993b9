//! Load of the LC service over time.

use serde::{Deserialize, Serialize};
use std::f64::consts::TAU;
use std::str::FromStr;

/// As a share of its peak.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum Load {
    Constant(f64),
    /// Changes from the first to the second and back, `period` seconds each.
    Steps {
        low: f64,
        high: f64,
        period: f64,
    },
    /// From 20 % at 4 in the morning to 90 % at 4 in the afternoon, with waves of minutes on top.
    Day,
}

const HOUR: f64 = 3600.0;

impl Load {
    /// At so many seconds after the start; days start at midnight.
    pub fn at(self, seconds: f64) -> f64 {
        match self {
            Self::Constant(load) => load,
            Self::Steps { low, high, period } => {
                if ((seconds / period) as u64).is_multiple_of(2) {
                    low
                } else {
                    high
                }
            }
            Self::Day => {
                let hours = 0.52 - 0.35 * (TAU * (seconds - 4.0 * HOUR) / (24.0 * HOUR)).cos();
                let minutes = 0.02 * (TAU * seconds / 700.0).sin() + 0.01 * (TAU * seconds / 97.0).sin();
                hours + minutes
            }
        }
    }
}

/// A text that is no load.
#[derive(Debug, Clone, thiserror::Error)]
#[error("'{0}' is no load: 60%, 20%-80% (changing every minute) or day")]
pub struct Unknown(String);

impl FromStr for Load {
    type Err = Unknown;

    fn from_str(text: &str) -> Result<Self, Unknown> {
        let percent = |text: &str| {
            let number = text.strip_suffix('%')?.parse::<f64>().ok()?;
            (0.0..=200.0).contains(&number).then_some(number / 100.0)
        };
        let steps = text.split_once('-').and_then(|(low, high)| Some((percent(low)?, percent(high)?)));
        match (text, percent(text), steps) {
            ("day", ..) => Ok(Self::Day),
            (_, Some(load), _) => Ok(Self::Constant(load)),
            (_, _, Some((low, high))) => Ok(Self::Steps { low, high, period: 60.0 }),
            _ => Err(Unknown(text.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_has_its_low_at_night_and_its_high_in_the_afternoon() {
        let day: Vec<f64> = (0..24 * 60).map(|minute| Load::Day.at(f64::from(minute) * 60.0)).collect();
        let extreme = |of: fn(f64, f64) -> f64| day.iter().copied().reduce(of).unwrap();
        assert!((0.13..0.2).contains(&extreme(f64::min)) && (0.85..0.91).contains(&extreme(f64::max)));
        assert!(Load::Day.at(16.0 * HOUR) > 0.8 && Load::Day.at(4.0 * HOUR) < 0.22);
        assert_eq!("20%-80%".parse::<Load>().unwrap().at(61.0), 0.8);
        for bad in ["", "60", "-1%", "20%-", "night", "NaN%"] {
            assert!(bad.parse::<Load>().is_err(), "{bad}");
        }
    }
}
