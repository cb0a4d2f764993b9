//! `--since 2026-01-31`, `--since 12h`: a moment in the past. Dates are UTC.

use brunt_results::Span;
use std::str::FromStr;
use time::{Date, Month};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Since {
    /// Midnight of a day, as Unix time in seconds.
    Day(u64),
    Ago(u64),
}

const SECONDS_PER_DAY: u64 = 86_400;

impl Since {
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
            return Ok(Self::Ago(u64::from(days) * SECONDS_PER_DAY));
        }
        let span = text.parse::<Span>().map(|span| Self::Ago(span.0.as_secs()));
        span.map_err(|_| format!("'{text}' is neither a day such as 2026-01-31 nor a duration such as 30m, 12h or 7d"))
    }
}

/// Unix time of midnight UTC of a `YYYY-MM-DD` from 1970 on.
fn day(text: &str) -> Option<u64> {
    let [year, month, day] = *text.split('-').collect::<Vec<_>>() else { return None };
    if [year.len(), month.len(), day.len()] != [4, 2, 2] || !text.bytes().all(|b| b == b'-' || b.is_ascii_digit()) {
        return None;
    }
    let month = Month::try_from(month.parse::<u8>().ok()?).ok()?;
    let date = Date::from_calendar_date(year.parse().ok()?, month, day.parse().ok()?).ok()?;
    u64::try_from(date.midnight().assume_utc().unix_timestamp()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::date;

    #[test]
    fn days_match_the_dates_in_reports() {
        for text in ["1970-01-01", "2000-02-29", "2026-12-31", "2100-03-01"] {
            let since: Since = text.parse().unwrap();
            assert_eq!(date(since.unix_s(0)), format!("{text} 00:00 UTC"));
        }
    }

    #[test]
    fn durations_count_back_from_now() {
        assert_eq!("7d".parse::<Since>().unwrap().unix_s(1_000_000), 1_000_000 - 7 * 86_400);
        assert_eq!("90m".parse::<Since>().unwrap().unix_s(10_000), 10_000 - 5_400);
        assert_eq!("10000d".parse::<Since>().unwrap().unix_s(10_000), 0);
    }

    #[test]
    fn invalid_moments_are_refused_with_examples() {
        for text in ["", "yesterday", "2026-02-29", "2026-13-01", "2026-00-01", "2026-1-1", "1969-12-31", "-1d", "7"] {
            let error = text.parse::<Since>().unwrap_err();
            assert!(error.contains(&format!("'{text}'")) && error.contains("7d"), "{error}");
        }
    }
}
