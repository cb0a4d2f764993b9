//! Go's number formats, as used by fortio's pages.

use time::OffsetDateTime;

/// `%.Ng`: N significant digits without trailing zeros; with an exponent below -4 or from N up.
pub(super) fn general(value: f64, digits: usize) -> String {
    if value == 0.0 || !value.is_finite() {
        return if value == 0.0 { "0".to_owned() } else { format!("{value}") };
    }
    let text = format!("{value:.*e}", digits.max(1) - 1);
    let (number, exponent) = text.split_once('e').expect("Rust writes an exponent");
    let exponent: i32 = exponent.parse().expect("an exponent is a whole number");
    let trimmed = |text: &str| match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text.to_owned(),
    };
    if exponent < -4 || exponent >= digits as i32 {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{}e{sign}{:02}", trimmed(number), exponent.abs());
    }
    trimmed(&format!("{value:.*}", (digits as i32 - 1 - exponent).max(0) as usize))
}

/// `%g`: the shortest text that parses to the same number.
pub(super) fn shortest(value: f64) -> String {
    let text = format!("{value:e}");
    let digits = text.split('e').next().map_or(1, |number| number.bytes().filter(u8::is_ascii_digit).count());
    // Without a precision Go switches to an exponent at 21 digits.
    if value.abs() >= 1e21 || (value != 0.0 && value.abs() < 1e-4) {
        return general(value, digits);
    }
    format!("{value}")
}

/// Formats a duration: `1m40.007300637s`, `5.000123s`, `12.5ms`, `0s`.
pub(super) fn duration(seconds: f64) -> String {
    let nanos = (seconds * 1e9).round() as u64;
    let fraction = |value: u64, unit: u64, decimals: usize, name: &str| {
        let text = format!("{}.{:0decimals$}", value / unit, value % unit);
        format!("{}{name}", text.trim_end_matches('0').trim_end_matches('.'))
    };
    match nanos {
        0 => "0s".to_owned(),
        n if n < 1_000 => format!("{n}ns"),
        n if n < 1_000_000 => fraction(n, 1_000, 3, "\u{b5}s"),
        n if n < 1_000_000_000 => fraction(n, 1_000_000, 6, "ms"),
        n => {
            let (hours, minutes) = (n / 3_600_000_000_000, n / 60_000_000_000 % 60);
            let rest = fraction(n % 60_000_000_000, 1_000_000_000, 9, "s");
            match (hours, minutes) {
                (0, 0) => rest,
                (0, m) => format!("{m}m{rest}"),
                (h, m) => format!("{h}h{m}m{rest}"),
            }
        }
    }
}

/// Parses a Go duration to seconds: `1m30s`, `.5s`, `0`. `None` if malformed or negative.
pub(super) fn seconds(text: &str) -> Option<f64> {
    let mut rest = text.strip_prefix('+').unwrap_or(text);
    if rest == "0" {
        return Some(0.0);
    }
    let mut total = None;
    while !rest.is_empty() {
        let (number, after) = rest.split_at(rest.find(|c: char| !c.is_ascii_digit() && c != '.')?);
        let (unit, after) = after.split_at(after.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(after.len()));
        let unit = match unit {
            "ns" => 1e-9,
            "us" | "\u{b5}s" | "\u{3bc}s" => 1e-6,
            "ms" => 1e-3,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3600.0,
            _ => return None,
        };
        total = Some(total.unwrap_or(0.0) + number.parse::<f64>().ok()? * unit);
        rest = after;
    }
    total
}

/// Parses a boolean in the spellings of Go's flag package.
pub(super) fn switch(text: &str) -> Option<bool> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Some(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Some(false),
        _ => None,
    }
}

/// A Unix time in Go's RFC 3339 layout: `2026-01-31T08:05:09Z`. A time after the year 9999 is shown as 1970.
pub(super) fn rfc3339(unix_s: u64) -> String {
    let at = i64::try_from(unix_s).ok().and_then(|unix_s| OffsetDateTime::from_unix_timestamp(unix_s).ok());
    let at = at.unwrap_or(OffsetDateTime::UNIX_EPOCH);
    format!("{}T{:02}:{:02}:{:02}Z", at.date(), at.hour(), at.minute(), at.second())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_look_as_go_prints_them() {
        for (value, digits, text) in [
            (0.0016620471, 8, "0.0016620471"),
            (1.454e-05, 6, "1.454e-05"),
            (0.001, 6, "0.001"),
            (1662.04713, 9, "1662.04713"),
            (10000.0, 6, "10000"),
            (1234567.0, 6, "1.23457e+06"),
            (242950000.0, 9, "242950000"),
            (0.0, 4, "0"),
            (0.4975, 4, "0.4975"),
            (99.9, 6, "99.9"),
        ] {
            assert_eq!(general(value, digits), text);
        }
        assert_eq!(shortest(1.454e-05), "1.454e-05");
        assert_eq!(shortest(0.021023814), "0.021023814");
        assert_eq!(shortest(99.9), "99.9");
        assert_eq!(shortest(8.0), "8");
    }

    #[test]
    fn times_and_switches_are_those_of_go() {
        for (seconds, text) in [
            (100.007300637, "1m40.007300637s"),
            (5.0, "5s"),
            (3600.0, "1h0m0s"),
            (0.0125, "12.5ms"),
            (0.000_001_5, "1.5\u{b5}s"),
            (0.0, "0s"),
        ] {
            assert_eq!(duration(seconds), text);
        }
        for (text, expected) in [("1m30s", 90.0), ("1h0.5m", 3630.0), (".5s", 0.5), ("250ms", 0.25), ("0", 0.0)] {
            assert!((seconds(text).unwrap() - expected).abs() < 1e-9, "{text}");
        }
        for wrong in ["", "5", "s", "-1s", "1x", "1.2.3s", "1s5"] {
            assert_eq!(seconds(wrong), None, "{wrong}");
        }
        assert_eq!((switch("T"), switch("0"), switch("yes")), (Some(true), Some(false), None));
    }
}
