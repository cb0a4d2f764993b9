//! Checks of replies: status, length of the body, text in it.

use crate::measure::recorder::Failure;
use std::{fmt, str::FromStr};

/// Expectations of every reply. Default: any status of 200 to 399, any body.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Expect {
    /// Any other status is a failure of kind `status`.
    pub statuses: Statuses,
    /// Length of every body, without chunk framing; else a failure of kind `mismatch`.
    pub length: Option<u64>,
    /// Text in every body; else a failure of kind `mismatch`. The search costs some instructions a byte, and bodies that
    /// arrive in pieces are kept until complete.
    pub body: Option<Vec<u8>>,
}

impl Expect {
    /// Checks a reply. `body` is read only if text is expected in it.
    #[inline]
    pub(crate) fn check(&self, status: u16, length: u64, body: &[u8]) -> Result<(), Failure> {
        if !self.statuses.contains(status) {
            return Err(Failure::Status);
        }
        if self.length.is_some_and(|expected| expected != length) {
            return Err(Failure::Mismatch);
        }
        match &self.body {
            Some(text) if !contains(body, text) => Err(Failure::Mismatch),
            _ => Ok(()),
        }
    }
}

fn contains(body: &[u8], text: &[u8]) -> bool {
    text.is_empty() || body.windows(text.len()).any(|window| window == text)
}

/// A set of status codes: one bit for each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statuses([u64; 16]);

impl Default for Statuses {
    fn default() -> Self {
        let mut statuses = Self([0; 16]);
        (200..400).for_each(|status| statuses.insert(status));
        statuses
    }
}

impl Statuses {
    fn insert(&mut self, status: u16) {
        self.0[usize::from(status >> 6)] |= 1 << (status & 63);
    }

    #[inline]
    pub fn contains(&self, status: u16) -> bool {
        self.0.get(usize::from(status >> 6)).is_some_and(|bits| bits >> (status & 63) & 1 == 1)
    }
}

/// Codes and ranges: `200-399, 404`.
impl fmt::Display for Statuses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let first = |status: &u16| self.contains(*status) && !self.contains(*status - 1);
        let end = |first: u16| (first..).find(|status| !self.contains(status + 1)).unwrap_or(first);
        let range =
            |first: u16| if end(first) == first { first.to_string() } else { format!("{first}-{}", end(first)) };
        f.write_str(&(1..=999).filter(first).map(range).collect::<Vec<_>>().join(", "))
    }
}

/// A list of codes and classes: `200,304` or `2xx,404`.
impl FromStr for Statuses {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut statuses = Self([0; 16]);
        for part in text.split(',') {
            let wrong = || format!("'{part}' is not a status such as 200, or a class such as 2xx");
            let [class @ b'1'..=b'9', rest @ ..] = part.as_bytes() else { return Err(wrong()) };
            let first = u16::from(class - b'0') * 100;
            match rest {
                [b'x' | b'X', b'x' | b'X'] => (first..first + 100).for_each(|status| statuses.insert(status)),
                [tens @ b'0'..=b'9', ones @ b'0'..=b'9'] => {
                    statuses.insert(first + u16::from(tens - b'0') * 10 + u16::from(ones - b'0'));
                }
                _ => return Err(wrong()),
            }
        }
        Ok(statuses)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_has_codes_and_classes() {
        let statuses: Statuses = "204,3xx,999".parse().unwrap();
        for (status, named) in
            [(200, false), (204, true), (299, false), (300, true), (399, true), (400, false), (999, true)]
        {
            assert_eq!(statuses.contains(status), named, "{status}");
        }
        assert_eq!(
            (statuses.to_string(), Statuses::default().to_string()),
            ("204, 300-399, 999".into(), "200-399".into())
        );
        assert!(!statuses.contains(1024) && !statuses.contains(u16::MAX));
        for wrong in ["", "2", "20", "2000", "2x", "xx", "099", "200,", "200 ", "2xx-3xx", "+20"] {
            assert!(wrong.parse::<Statuses>().unwrap_err().contains("2xx"), "{wrong}");
        }
    }

    #[test]
    fn each_expectation_has_its_kind_of_failure() {
        let body = b"hello, world";
        let check = |expect: &Expect, status| expect.check(status, body.len() as u64, body);
        let any = Expect::default();
        assert_eq!((check(&any, 200), check(&any, 399)), (Ok(()), Ok(())));
        assert_eq!((check(&any, 199), check(&any, 400)), (Err(Failure::Status), Err(Failure::Status)));
        let length = |length| Expect { length: Some(length), ..Expect::default() };
        assert_eq!((check(&length(12), 200), check(&length(13), 200)), (Ok(()), Err(Failure::Mismatch)));
        let words = |words: &str| Expect { body: Some(words.into()), ..Expect::default() };
        for (text, result) in [("world", Ok(())), ("", Ok(())), ("word", Err(Failure::Mismatch))] {
            assert_eq!(check(&words(text), 200), result, "{text}");
        }
        assert_eq!(check(&words("longer than the whole body"), 200), Err(Failure::Mismatch));
    }
}
