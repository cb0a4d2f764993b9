//! Units as typed: `20k`, `1MiB`, `500us`, `0,2-3`; and shares as printed.
//!
//! Each unit is a newtype that parses, prints and serializes in the same form, in flags, plans and results alike.

use serde::Serialize;
use serde::de::{self, Deserialize, Deserializer, Visitor};
use std::{fmt, str::FromStr, time::Duration};

/// A value that cannot be parsed, with the accepted forms.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnitError {
    value: String,
    expected: &'static str,
}

impl UnitError {
    pub(crate) fn new(value: &str, expected: &'static str) -> Self {
        Self { value: value.to_owned(), expected }
    }
}

impl fmt::Display for UnitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "'{}' is not {}", self.value, self.expected)
    }
}

impl std::error::Error for UnitError {}

/// The value of a number with one of these suffixes, as `12.5KiB`. Rejects signs, infinities and empty numbers.
fn scaled(text: &str, units: &[(&str, f64)]) -> Option<f64> {
    let text = text.trim();
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_')).unwrap_or(text.len());
    let (number, suffix) = text.split_at(end);
    let number: f64 = number.replace('_', "").parse().ok()?;
    units.iter().find(|(unit, _)| *unit == suffix.trim()).map(|(_, factor)| number * factor)
}

fn whole(value: f64) -> Option<u64> {
    (value.fract() == 0.0 && value < 9e15).then_some(value as u64)
}

/// Writes `number` in the first of `units` that divides it, or in the last.
fn write_in_units(f: &mut fmt::Formatter<'_>, number: u128, units: &[(&str, u128)]) -> fmt::Result {
    let divides = |(_, size): &&(&str, u128)| number >= *size && number.is_multiple_of(*size);
    let (unit, size) = units.iter().find(divides).or(units.last()).copied().unwrap_or(("", 1));
    write!(f, "{}{unit}", number / size)
}

/// Implements parsing, with `$expected` in its error, and both directions of serde as text.
macro_rules! unit {
    ($name:ident, $expected:literal, $parse:expr) => {
        impl FromStr for $name {
            type Err = UnitError;
            fn from_str(text: &str) -> Result<Self, UnitError> {
                let parse: fn(&str) -> Option<_> = $parse;
                parse(text).map(Self).ok_or_else(|| UnitError::new(text, $expected))
            }
        }
        impl From<$name> for String {
            fn from(value: $name) -> String {
                value.to_string()
            }
        }
        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Text;
                impl Visitor<'_> for Text {
                    type Value = $name;
                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        write!(f, "{}, in quotes", $expected)
                    }
                    fn visit_str<E: de::Error>(self, text: &str) -> Result<$name, E> {
                        text.parse().map_err(E::custom)
                    }
                }
                deserializer.deserialize_str(Text)
            }
        }
    };
}

const DECIMAL: [(&str, f64); 5] = [("", 1.0), ("k", 1e3), ("K", 1e3), ("M", 1e6), ("G", 1e9)];

/// A whole number, as of connections or requests, with `k` (thousand), `M` (million) or `G`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(into = "String")]
pub struct Count(pub u64);

unit!(Count, "a count such as 100, 20k or 1M", |text| whole(scaled(text, &DECIMAL)?));

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_in_units(f, self.0.into(), &[("G", 1_000_000_000), ("M", 1_000_000), ("k", 1_000), ("", 1)])
    }
}

const KIB: u32 = 1 << 10;
const MIB: u32 = 1 << 20;
const GIB: u32 = 1 << 30;

/// A number of bytes: `100`, `100B`, `1KiB`, `2MiB`. Rejects `1KB`, which is ambiguous.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(into = "String")]
pub struct Size(pub u64);

unit!(Size, "a size such as 100B, 1KiB or 2MiB", |text| {
    let multiples = [("KiB", KIB), ("Ki", KIB), ("MiB", MIB), ("Mi", MIB), ("GiB", GIB), ("Gi", GIB)];
    let units = [("", 1), ("B", 1)].into_iter().chain(multiples).map(|(unit, bytes)| (unit, f64::from(bytes)));
    whole(scaled(text, &units.collect::<Vec<_>>())?)
});

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_in_units(f, self.0.into(), &[("GiB", GIB.into()), ("MiB", MIB.into()), ("KiB", KIB.into()), ("B", 1)])
    }
}

/// A duration: `50us`, `10ms`, `1.5s`, `2m`, `1h30m`. Rejects numbers without a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(into = "String")]
pub struct Span(pub Duration);

unit!(Span, "a time such as 50us, 10ms, 1.5s, 2m or 1h30m", |text| {
    let zero = || scaled(text, &[("", 1.0)]).filter(|number| *number == 0.0);
    let nanos = nanoseconds(text.trim()).or_else(zero)?.round();
    (nanos < 9e18).then(|| Duration::from_nanos(nanos as u64))
});

/// The sum of a text's parts, each of a smaller unit than the one before.
fn nanoseconds(text: &str) -> Option<f64> {
    const UNITS: [(&str, f64); 8] =
        [("h", 3600e9), ("m", 60e9), ("s", 1e9), ("ms", 1e6), ("us", 1e3), ("µs", 1e3), ("μs", 1e3), ("ns", 1.0)];
    let (mut sum, mut largest, mut rest) = (0.0, f64::INFINITY, text);
    while !rest.is_empty() {
        let unit = rest.find(char::is_alphabetic)?;
        let end = rest[unit..].find(|c: char| !c.is_alphabetic()).map_or(rest.len(), |length| unit + length);
        let (part, behind) = rest.split_at(end);
        let (_, size) = UNITS.into_iter().find(|(name, _)| *name == &part[unit..])?;
        sum += scaled(part, &UNITS).filter(|_| size < largest)?;
        (largest, rest) = (size, behind);
    }
    (largest < f64::INFINITY).then_some(sum)
}

impl Span {
    /// As [`FromStr`], or a number of seconds without a unit, as other load tools take.
    ///
    /// # Errors
    /// It is neither.
    pub fn or_seconds(text: &str) -> Result<Self, UnitError> {
        let is_number = !text.contains(char::is_alphabetic);
        text.parse().or_else(|error| {
            if is_number { format!("{}s", text.trim()).parse().map_err(|_| error) } else { Err(error) }
        })
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const MINUTE: u128 = 60_000_000_000;
        const SMALL: [(&str, u128); 4] = [("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000), ("ns", 1)];
        match self.0.as_nanos() {
            0 => f.write_str("0s"),
            nanos => write_in_units(f, nanos, &[&[("h", 60 * MINUTE), ("m", MINUTE)], &SMALL[..]].concat()),
        }
    }
}

/// Requests or connections per second, up to 10^15: `500`, `20k`, `0.5`, `1G`, `20k/s`.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize)]
#[serde(into = "String")]
pub struct Rate(pub f64);

unit!(Rate, "a rate per second above zero such as 500, 20k, 1M or 1G", |text| {
    let value = scaled(text.trim().strip_suffix("/s").unwrap_or(text), &DECIMAL)?;
    (value > 0.0 && value <= 1e15).then_some(value)
});

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            r if r >= 1e9 && r % 1e9 == 0.0 => write!(f, "{}G", r / 1e9),
            r if r >= 1e6 && r % 1e6 == 0.0 => write!(f, "{}M", r / 1e6),
            r if r >= 1e3 && r % 1e3 == 0.0 => write!(f, "{}k", r / 1e3),
            r => write!(f, "{r}"),
        }
    }
}

/// Processor numbers: `1`, `0,2-3`. Sorted, without duplicates.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(into = "String")]
pub struct Cores(pub Vec<usize>);

impl Cores {
    /// The number of cores.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// In a sentence: `core 1`, `cores 0-1`.
    pub fn words(&self) -> String {
        format!("{} {self}", if self.count() == 1 { "core" } else { "cores" })
    }
}

unit!(Cores, "a list of cores such as 1 or 0,2-3", |text| {
    let mut cores = Vec::new();
    for part in text.trim().split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (usize, usize) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        // Above any NR_CPUS in use; bounds the memory that a typing error can take.
        if first > last || last >= 4096 {
            return None;
        }
        cores.extend(first..=last);
    }
    cores.sort_unstable();
    cores.dedup();
    Some(cores)
});

impl fmt::Display for Cores {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        for run in self.0.chunk_by(|core, next| *next == core + 1) {
            match run {
                [first, .., last] => write!(f, "{separator}{first}-{last}")?,
                run => write!(f, "{separator}{}", run[0])?,
            }
            separator = ",";
        }
        Ok(())
    }
}

/// A share as percent without needless decimals: `3 %`, `1.5 %`.
pub fn share(share: f64) -> String {
    format!("{} %", trimmed((share * 1e5).round() / 1e3))
}

/// A number of up to four decimals without trailing zeros.
pub fn trimmed(value: f64) -> String {
    format!("{value:.4}").trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn common_forms_parse_and_errors_name_them() {
        assert_eq!("20k".parse(), Ok(Count(20_000)));
        assert_eq!("1M".parse(), Ok(Count(1_000_000)));
        assert_eq!("1KiB".parse(), Ok(Size(1024)));
        assert_eq!("100".parse(), Ok(Size(100)));
        assert_eq!("1.5s".parse(), Ok(Span(Duration::from_millis(1500))));
        for (text, ms) in [
            ("2m", 120_000),
            ("1h30m", 5_400_000),
            ("1m2s", 62_000),
            ("1m 2s", 62_000),
            ("1h1.5s", 3_601_500),
            ("1s5ms", 1005),
        ] {
            assert_eq!(text.parse(), Ok(Span(Duration::from_millis(ms))), "{text}");
        }
        assert_eq!(("5".parse::<Span>().is_err(), Span::or_seconds("5")), (true, "5s".parse()));
        assert_eq!("20k/s".parse(), Ok(Rate(20_000.0)));
        assert_eq!("10G".parse(), Ok(Rate(1e10)));
        assert_eq!(Rate(1e10).to_string(), "10G");
        assert_eq!("0,2-3".parse(), Ok(Cores(vec![0, 2, 3])));
        assert_eq!("3,1,2,2".parse::<Cores>().unwrap().to_string(), "1-3");
        for (error, value) in [
            ("1KB".parse::<Size>().unwrap_err(), "'1KB'"),
            ("10".parse::<Span>().unwrap_err(), "'10'"),
            ("30m1h".parse::<Span>().unwrap_err(), "'30m1h'"),
            ("1m1m".parse::<Span>().unwrap_err(), "'1m1m'"),
            ("1m30".parse::<Span>().unwrap_err(), "'1m30'"),
            ("1hm".parse::<Span>().unwrap_err(), "'1hm'"),
            (Span::or_seconds("1m2").unwrap_err(), "'1m2'"),
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
