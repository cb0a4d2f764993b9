//! The pattern of a job's figure of progress.

use regex_lite::Regex;
use serde::{Serialize, Serializer};
use std::str::FromStr;

/// A regular expression whose first group is a number.
#[derive(Debug, Clone)]
pub struct Pattern(Regex);

impl Pattern {
    /// The figure in a line of output, if it has one.
    pub fn figure(&self, line: &str) -> Option<f64> {
        let figure: f64 = self.0.captures(line)?.get(1)?.as_str().parse().ok()?;
        figure.is_finite().then_some(figure)
    }

    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

impl FromStr for Pattern {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let example = r"put parentheses around the number, as in 'frame= *(\d+)'";
        let regex = Regex::new(text).map_err(|error| format!("'{text}' is no regular expression: {error}"))?;
        match regex.captures_len() {
            // The whole match is counted too.
            2 => Ok(Self(regex)),
            1 => Err(format!("'{text}' has no group: {example}")),
            groups => {
                Err(format!("'{text}' has {} groups, one is needed: write (?:...) for others; {example}", groups - 1))
            }
        }
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Serialize for Pattern {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_group_is_the_number() {
        let figure = |pattern: &str, line: &str| pattern.parse::<Pattern>().unwrap().figure(line);
        assert_eq!(figure(r"frame= *(\d+)", "frame=  120 fps= 30"), Some(120.0));
        assert_eq!(figure(r"(?:done|ok): ([0-9.e+]+)", "ok: 1.5e+3"), Some(1500.0));
        assert_eq!(figure(r"([0-9]+) (?:MiB)?", "12"), None);
        assert_eq!(figure(r"n=(\S+)", "n=many"), None);
        assert_eq!(figure(r"n=(\S+)", "n=inf"), None);
    }

    #[test]
    fn patterns_without_exactly_one_group_are_refused_with_an_example() {
        for text in [r"\d+", r"(\d+) of (\d+)", r"(\d+"] {
            let error = text.parse::<Pattern>().unwrap_err();
            assert!(error.contains(text) && !error.contains('\n'), "{error}");
        }
    }
}
