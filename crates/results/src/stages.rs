//! Rates and numbers of connections that change, as typed: `1k:50k`, `1k:5k@1m`, `c=10:200@1m`.

use crate::{Count, Rate, Span};
use std::fmt::{self, Display};
use std::{str::FromStr, time::Duration};

/// A quantity, or two between which it changes in a straight line.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Range<T> {
    pub from: T,
    pub to: T,
}

pub type RateRange = Range<Rate>;
pub type ConnectionRange = Range<Count>;

pub trait Quantity: Copy + PartialEq + Display + FromStr<Err: Display> {
    /// A range as typed.
    const EXAMPLE: &str;

    fn number(self) -> f64;
}

impl Quantity for Rate {
    const EXAMPLE: &str = "1k:50k";

    fn number(self) -> f64 {
        self.0
    }
}

impl Quantity for Count {
    const EXAMPLE: &str = "10:200";

    fn number(self) -> f64 {
        self.0 as f64
    }
}

impl<T: Quantity> Range<T> {
    pub fn is_constant(self) -> bool {
        self.from == self.to
    }

    pub fn highest(self) -> T {
        if self.from.number() > self.to.number() { self.from } else { self.to }
    }

    pub fn lowest(self) -> T {
        if self.from.number() < self.to.number() { self.from } else { self.to }
    }
}

impl<T: Quantity> FromStr for Range<T> {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let one = |text: &str| text.parse::<T>().map_err(|error| format!("{error}, or two such as {}", T::EXAMPLE));
        match text.split_once(':') {
            None => one(text).map(|one| Self { from: one, to: one }),
            Some((from, to)) => Ok(Self { from: one(from)?, to: one(to)? }),
        }
    }
}

impl<T: Quantity> Display for Range<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_constant() { self.from.fmt(f) } else { write!(f, "{}:{}", self.from, self.to) }
    }
}

/// `1k@30s` or `1k:5k@1m`: a rate and for how long; `c=10@30s` or `c=10:200@1m`: the same of connections.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TimedStage {
    quantity: Staged,
    length: Span,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Staged {
    Rate(RateRange),
    Connections(ConnectionRange),
}

impl FromStr for TimedStage {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let form = "a stage is a rate and a time, 5k@1m or 1k:5k@30s, or connections and a time, c=10:200@1m";
        let (quantity, length) = text.split_once('@').ok_or(form)?;
        let length = length.parse::<Span>().map_err(|error| error.to_string())?;
        if length.0.is_zero() {
            return Err("a stage takes longer than 0s".to_owned());
        }
        let quantity = match quantity.strip_prefix("c=") {
            Some(connections) => Staged::Connections(connections.parse()?),
            None => Staged::Rate(quantity.parse()?),
        };
        Ok(Self { quantity, length })
    }
}

impl TimedStage {
    pub fn length(&self) -> Duration {
        self.length.0
    }

    pub fn rate(&self) -> Option<(RateRange, Duration)> {
        match self.quantity {
            Staged::Rate(range) => Some((range, self.length.0)),
            Staged::Connections(_) => None,
        }
    }

    pub fn connections(&self) -> Option<(ConnectionRange, Duration)> {
        match self.quantity {
            Staged::Connections(range) => Some((range, self.length.0)),
            Staged::Rate(_) => None,
        }
    }
}

impl Display for TimedStage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.quantity {
            Staged::Rate(range) => write!(f, "{range}@{}", self.length),
            Staged::Connections(range) => write!(f, "c={range}@{}", self.length),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_and_stages_parse_and_errors_name_the_forms() {
        let range: RateRange = "1k:50k".parse().unwrap();
        assert_eq!((range.from, range.to, range.to_string()), (Rate(1e3), Rate(5e4), "1k:50k".to_owned()));
        assert!("20k".parse::<RateRange>().unwrap().is_constant());
        let stage: TimedStage = "1k:5k@1m".parse().unwrap();
        let (rate, length) = stage.rate().unwrap();
        assert_eq!((rate.highest(), length), (Rate(5e3), Duration::from_secs(60)));
        for text in ["1k:5k@1m", "500@1500ms", "c=10@30s", "c=200:10@1h"] {
            assert_eq!(text.parse::<TimedStage>().unwrap().to_string(), text);
        }
        let stage: TimedStage = "c=200:10@1m".parse().unwrap();
        let (connections, _) = stage.connections().unwrap();
        assert_eq!(
            (connections.highest(), connections.to_string(), stage.rate()),
            (Count(200), "200:10".to_owned(), None)
        );
        for (text, says) in [
            ("5k", "5k@1m"),
            ("5k@", "''"),
            ("x@1s", "'x'"),
            ("1:2:3@1s", "'2:3'"),
            ("5k@0s", "0s"),
            ("0@1s", "'0'"),
            ("c=@1s", "''"),
            ("c=1.5@1s", "'1.5'"),
            ("c=5", "c=10:200@1m"),
            ("c=1:x@1s", "or two such as 10:200"),
        ] {
            assert!(text.parse::<TimedStage>().unwrap_err().contains(says), "{text}");
        }
    }
}
