//! Units as typed: `20k`, `1MiB`, `500us`, `0,2-3`.
//!
//! Each unit is a newtype that parses, prints and serializes in the same form, in flags, plans and results alike.

use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr, time::Duration};

/// A value that cannot be parsed, with the accepted forms.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnitError {
    value: String,
    expected: &'static str,
}

impl UnitError {
    fn new(value: &str, expected: &'static str) -> Self {
        Self { value: value.to_owned(), expected }
    }
}

impl fmt::Display for UnitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "'{}' is not {}", self.value, self.expected)
    }
}

impl std::error::Error for UnitError {}

/// Splits `12.5KiB` into 12.5 and `KiB`. Rejects signs, infinities and empty numbers.
fn number_and_suffix(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_')).unwrap_or(text.len());
    let (number, suffix) = text.split_at(end);
    let value: f64 = number.replace('_', "").parse().ok()?;
    Some((value, suffix.trim()))
}

macro_rules! as_string {
    ($name:ident) => {
        impl From<$name> for String {
            fn from(value: $name) -> String {
                value.to_string()
            }
        }
        impl TryFrom<String> for $name {
            type Error = UnitError;
            fn try_from(text: String) -> Result<Self, UnitError> {
                text.parse()
            }
        }
    };
}

/// A whole number, as of connections or requests, with `k` (thousand), `M` (million) or `G`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Count(pub u64);

impl FromStr for Count {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        let error = || UnitError::new(text, "a count such as 100, 20k or 1M");
        let (number, suffix) = number_and_suffix(text).ok_or_else(error)?;
        let value = number * decimal_factor(suffix).ok_or_else(error)?;
        if value.fract() == 0.0 && value < 9e15 { Ok(Self(value as u64)) } else { Err(error()) }
    }
}

fn decimal_factor(suffix: &str) -> Option<f64> {
    match suffix {
        "" => Some(1.0),
        "k" | "K" => Some(1e3),
        "M" => Some(1e6),
        "G" => Some(1e9),
        _ => None,
    }
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => f.write_str("0"),
            n if n % 1_000_000 == 0 => write!(f, "{}M", n / 1_000_000),
            n if n % 1_000 == 0 => write!(f, "{}k", n / 1_000),
            n => write!(f, "{n}"),
        }
    }
}
as_string!(Count);

/// A number of bytes: `100`, `100B`, `1KiB`, `2MiB`. Rejects `1KB`, which is ambiguous.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Size(pub u64);

impl FromStr for Size {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        let error = || UnitError::new(text, "a size such as 100B, 1KiB or 2MiB");
        let (number, suffix) = number_and_suffix(text).ok_or_else(error)?;
        let factor = match suffix {
            "" | "B" => 1.0,
            "KiB" | "Ki" => 1024.0,
            "MiB" | "Mi" => 1024.0 * 1024.0,
            "GiB" | "Gi" => 1024.0 * 1024.0 * 1024.0,
            _ => return Err(error()),
        };
        let value = number * factor;
        if value.fract() == 0.0 && value < 9e15 { Ok(Self(value as u64)) } else { Err(error()) }
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const KIB: u64 = 1024;
        match self.0 {
            n if n > 0 && n % (KIB * KIB * KIB) == 0 => write!(f, "{}GiB", n / (KIB * KIB * KIB)),
            n if n > 0 && n % (KIB * KIB) == 0 => write!(f, "{}MiB", n / (KIB * KIB)),
            n if n > 0 && n % KIB == 0 => write!(f, "{}KiB", n / KIB),
            n => write!(f, "{n}B"),
        }
    }
}
as_string!(Size);

/// A duration: `50us`, `10ms`, `1.5s`, `2m`, `1h`. Rejects numbers without a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Span(pub Duration);

impl FromStr for Span {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        let error = || UnitError::new(text, "a time such as 50us, 10ms, 1.5s, 2m or 1h");
        let (number, suffix) = number_and_suffix(text).ok_or_else(error)?;
        let nanos = match suffix {
            "ns" => 1.0,
            "us" | "µs" => 1e3,
            "ms" => 1e6,
            "s" => 1e9,
            "m" => 60e9,
            "h" => 3600e9,
            "" if number == 0.0 => 1.0,
            _ => return Err(error()),
        };
        let nanos = (number * nanos).round();
        if nanos < 9e18 { Ok(Self(Duration::from_nanos(nanos as u64))) } else { Err(error()) }
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanos = self.0.as_nanos();
        for (unit, size) in
            [("h", 3_600_000_000_000), ("m", 60_000_000_000), ("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000)]
        {
            if nanos >= size && nanos.is_multiple_of(size) {
                return write!(f, "{}{unit}", nanos / size);
            }
        }
        match nanos {
            0 => f.write_str("0s"),
            n => write!(f, "{n}ns"),
        }
    }
}
as_string!(Span);

/// Requests or connections per second: `500`, `20k`, `0.5`, `20k/s`.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Rate(pub f64);

impl FromStr for Rate {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        let error = || UnitError::new(text, "a rate per second above zero such as 500, 20k or 1M");
        let (number, suffix) = number_and_suffix(text).ok_or_else(error)?;
        let suffix = suffix.strip_suffix("/s").unwrap_or(suffix);
        let value = number * decimal_factor(suffix).ok_or_else(error)?;
        if value > 0.0 && value <= 1e9 { Ok(Self(value)) } else { Err(error()) }
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            r if r >= 1e6 && r % 1e6 == 0.0 => write!(f, "{}M", r / 1e6),
            r if r >= 1e3 && r % 1e3 == 0.0 => write!(f, "{}k", r / 1e3),
            r => write!(f, "{r}"),
        }
    }
}
as_string!(Rate);

/// Processor numbers: `1`, `0,2-3`. Sorted, without duplicates.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Cores(pub Vec<usize>);

impl Cores {
    /// The number of cores.
    pub fn count(&self) -> usize {
        self.0.len()
    }
}

impl FromStr for Cores {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        let error = || UnitError::new(text, "a list of cores such as 1 or 0,2-3");
        let mut cores = Vec::new();
        for part in text.trim().split(',') {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let first: usize = first.trim().parse().map_err(|_| error())?;
            let last: usize = last.trim().parse().map_err(|_| error())?;
            // Above any NR_CPUS in use; bounds the memory that a typing error can take.
            if first > last || last >= 4096 {
                return Err(error());
            }
            cores.extend(first..=last);
        }
        cores.sort_unstable();
        cores.dedup();
        Ok(Self(cores))
    }
}

impl fmt::Display for Cores {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.0.as_slice();
        let mut separator = "";
        while let Some(&first) = rest.first() {
            let run = rest.iter().enumerate().take_while(|(i, core)| **core == first + i).count();
            match run {
                1 => write!(f, "{separator}{first}")?,
                _ => write!(f, "{separator}{first}-{}", first + run - 1)?,
            }
            separator = ",";
            rest = &rest[run..];
        }
        Ok(())
    }
}
as_string!(Cores);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn common_forms_parse() {
        assert_eq!("20k".parse(), Ok(Count(20_000)));
        assert_eq!("1M".parse(), Ok(Count(1_000_000)));
        assert_eq!("1KiB".parse(), Ok(Size(1024)));
        assert_eq!("100".parse(), Ok(Size(100)));
        assert_eq!("1.5s".parse(), Ok(Span(Duration::from_millis(1500))));
        assert_eq!("2m".parse(), Ok(Span(Duration::from_secs(120))));
        assert_eq!("20k/s".parse(), Ok(Rate(20_000.0)));
        assert_eq!("0,2-3".parse(), Ok(Cores(vec![0, 2, 3])));
        assert_eq!("3,1,2,2".parse::<Cores>().unwrap().to_string(), "1-3");
    }

    #[test]
    fn errors_name_the_accepted_forms() {
        for (error, value) in [
            ("1KB".parse::<Size>().unwrap_err(), "'1KB'"),
            ("10".parse::<Span>().unwrap_err(), "'10'"),
            ("0".parse::<Rate>().unwrap_err(), "'0'"),
            ("-5".parse::<Count>().unwrap_err(), "'-5'"),
            ("3-1".parse::<Cores>().unwrap_err(), "'3-1'"),
            ("1.5".parse::<Count>().unwrap_err(), "'1.5'"),
        ] {
            assert!(error.to_string().starts_with(value) && error.to_string().contains("such as"), "{error}");
        }
    }

    proptest! {
        #[test]
        fn printing_and_parsing_agree(n in 0u64..1_000_000_000_000, cores in proptest::collection::vec(0usize..300, 1..20)) {
            prop_assert_eq!(Count(n).to_string().parse::<Count>().unwrap(), Count(n));
            prop_assert_eq!(Size(n).to_string().parse::<Size>().unwrap(), Size(n));
            let span = Span(Duration::from_nanos(n));
            prop_assert_eq!(span.to_string().parse::<Span>().unwrap(), span);
            let mut sorted = cores;
            sorted.sort_unstable();
            sorted.dedup();
            prop_assert_eq!(Cores(sorted.clone()).to_string().parse::<Cores>().unwrap(), Cores(sorted));
        }

        #[test]
        fn no_text_panics(text in ".{0,24}") {
            let _ = (text.parse::<Count>(), text.parse::<Size>(), text.parse::<Span>(), text.parse::<Rate>(), text.parse::<Cores>());
        }
    }
}
