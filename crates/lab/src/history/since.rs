//! `--since 2026-01-31`, `--since 12h`: a moment in the past, as people type it. Pure; dates are UTC.

use brunt_results::Span;
use std::str::FromStr;

/// A moment in the past.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Since {
    /// The beginning of a day, in seconds since 1970-01-01 UTC.
    Day(u64),
    /// So many seconds ago.
    Ago(u64),
}

const SECONDS_A_DAY: u64 = 86_400;

impl Since {
    /// The moment in seconds since 1970-01-01 UTC.
    pub fn unix_s(self, now_unix_s: u64) -> u64 {
        match self {
            Self::Day(unix_s) => unix_s,
            Self::Ago(seconds) => now_unix_s.saturating_sub(seconds),
        }
    }
}

impl FromStr for Since {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if let Some(day) = day(text) {
            return Ok(Self::Day(day));
        }
        if let Some(days) = text.strip_suffix('d').and_then(|days| days.trim().parse::<u32>().ok()) {
            return Ok(Self::Ago(u64::from(days) * SECONDS_A_DAY));
        }
        let span = text.parse::<Span>().map(|span| Self::Ago(span.0.as_secs()));
        span.map_err(|_| format!("'{text}' is neither a day as 2026-01-31 nor a time ago as 30m, 12h or 7d"))
    }
}

/// The beginning of a day that exists.
fn day(text: &str) -> Option<u64> {
    let parts: Vec<&str> = text.split('-').collect();
    let [year, month, day] = parts.as_slice() else { return None };
    let number = |part: &str, digits: usize| {
        (part.len() == digits && part.bytes().all(|byte| byte.is_ascii_digit())).then(|| part.parse::<u64>().ok())?
    };
    let (year, month, day) = (number(year, 4)?, number(month, 2)?, number(day, 2)?);
    let is_leap = |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let lengths = [31, if is_leap(year) { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let length = *lengths.get(usize::try_from(month).ok()?.checked_sub(1)?)?;
    if year < 1970 || day == 0 || day > length {
        return None;
    }
    let years: u64 = (1970..year).map(|year| if is_leap(year) { 366 } else { 365 }).sum();
    let months: u64 = lengths.iter().take(month as usize - 1).sum();
    Some((years + months + day - 1) * SECONDS_A_DAY)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::date;

    #[test]
    fn days_are_those_that_reports_print() {
        for text in ["1970-01-01", "2000-02-29", "2026-12-31", "2100-03-01"] {
            let since: Since = text.parse().unwrap();
            assert_eq!(date(since.unix_s(0)), format!("{text} 00:00 UTC"));
        }
    }

    #[test]
    fn a_time_ago_is_counted_from_now() {
        assert_eq!("7d".parse::<Since>().unwrap().unix_s(1_000_000), 1_000_000 - 7 * 86_400);
        assert_eq!("90m".parse::<Since>().unwrap().unix_s(10_000), 10_000 - 5_400);
        assert_eq!("10000d".parse::<Since>().unwrap().unix_s(10_000), 0);
    }

    #[test]
    fn what_is_no_moment_is_refused_with_one_that_is() {
        for text in ["", "yesterday", "2026-02-29", "2026-13-01", "2026-00-01", "2026-1-1", "1969-12-31", "-1d", "7"] {
            let error = text.parse::<Since>().unwrap_err();
            assert!(error.contains(&format!("'{text}'")) && error.contains("7d"), "{error}");
        }
    }
}
