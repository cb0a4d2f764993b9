//! Formatting of figures for readers: few digits, a fitting unit, a dash for an absent value.

use crate::plan::settings::Amount;
use brunt_results::Rate;
use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use time::OffsetDateTime;

pub const ABSENT: &str = "-";

/// Microseconds as a time with a unit: `41.2 us`, `2.35 ms`, `1.20 s`.
pub fn time(us: Option<f64>) -> String {
    match us {
        None => ABSENT.to_owned(),
        Some(us) if us < 99.95 => format!("{us:.1} us"),
        Some(us) if us < 999.5 => format!("{us:.0} us"),
        Some(us) if us < 9_995.0 => format!("{:.2} ms", us / 1e3),
        Some(us) if us < 99_950.0 => format!("{:.1} ms", us / 1e3),
        Some(us) if us < 999_500.0 => format!("{:.0} ms", us / 1e3),
        Some(us) => format!("{:.2} s", us / 1e6),
    }
}

/// A range of times in microseconds: `392..1380 us`.
pub fn times(low: f64, high: f64) -> String {
    let (unit, divisor) = match high {
        high if high < 9_995.0 => ("us", 1.0),
        high if high < 9_995e3 => ("ms", 1e3),
        _ => ("s", 1e6),
    };
    let digits = if high / divisor < 99.95 { 1 } else { 0 };
    format!("{:.digits$}..{:.digits$} {unit}", low / divisor, high / divisor)
}

/// Escapes text for XML or HTML, between tags or in an attribute.
pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

pub fn number(value: Option<f64>, decimals: usize) -> String {
    value.map_or(ABSENT.to_owned(), |value| format!("{value:.decimals$}"))
}

/// Requests a second: `41.2 k/s`, `812.0 /s`.
pub fn throughput(rate: Option<f64>) -> String {
    rate.map_or(ABSENT.to_owned(), |rate| match rate {
        rate if rate >= 1000.0 => format!("{:.1} k/s", rate / 1e3),
        rate => format!("{rate:.1} /s"),
    })
}

/// CPU time of a request: `9.12 us`.
pub fn cost(us: Option<f64>) -> String {
    us.map_or(ABSENT.to_owned(), |us| format!("{us:.2} us"))
}

pub fn mebibytes(bytes: Option<f64>) -> String {
    number(bytes.map(|bytes| bytes / (1024.0 * 1024.0)), 1)
}

/// Unit of a column of times in microseconds, and its length: microseconds if all are below 100 ms.
pub fn time_unit(us: impl IntoIterator<Item = f64>) -> (&'static str, f64) {
    if us.into_iter().all(|us| us < 99_950.0) { ("us", 1.0) } else { ("ms", 1e3) }
}

/// A number with three significant digits, or all digits before the point.
pub fn three_digits(value: Option<f64>) -> String {
    let decimals = match value.unwrap_or(0.0).abs() {
        value if value >= 99.95 => 0,
        value if value >= 9.995 => 1,
        value if value >= 0.9995 => 2,
        _ => 3,
    };
    number(value, decimals)
}

/// Rounds to a count of significant digits. Histograms hold three, rates and CPU times no more than five.
pub fn significant(value: f64, digits: usize) -> f64 {
    format!("{value:.0$e}", digits - 1).parse().unwrap_or(value)
}

/// An aligned table without lines.
pub fn table<H: std::fmt::Display>(
    heads: &[H],
    is_right: impl Fn(usize) -> bool,
    rows: impl IntoIterator<Item = Vec<String>>,
) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(heads).add_rows(rows);
    for column in table.column_iter_mut().filter(|column| is_right(column.index)) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

/// A total, or `4 x 80` for an amount per core.
pub fn amount<T: Copy>(amount: Option<Amount<T>>, cores: usize, show: impl Fn(T) -> String) -> Option<String> {
    Some(match amount? {
        Amount::PerCore(each) if cores > 1 => format!("{cores} x {}", show(each)),
        Amount::PerCore(all) | Amount::Total(all) => show(all),
    })
}

/// An offered rate; `max` for a closed loop.
pub fn rate(offered: Option<Amount<f64>>, cores: usize) -> String {
    amount(offered, cores, |rate| Rate(rate).to_string()).unwrap_or("max".to_owned())
}

pub fn plural(count: usize, one: &str) -> String {
    format!("{count} {one}{}", if count == 1 { "" } else { "s" })
}

/// A Unix time as `2026-01-31 08:05 UTC`.
pub fn date(unix_s: u64) -> String {
    let at = utc(unix_s);
    format!("{} {:02}:{:02} UTC", at.date(), at.hour(), at.minute())
}

/// A Unix time as RFC 3339: `2026-01-31T08:05:09Z`.
pub fn rfc3339(unix_s: u64) -> String {
    let at = utc(unix_s);
    format!("{}T{:02}:{:02}:{:02}Z", at.date(), at.hour(), at.minute(), at.second())
}

/// Times after the year 9999 are shown as 1970.
fn utc(unix_s: u64) -> OffsetDateTime {
    i64::try_from(unix_s)
        .ok()
        .and_then(|unix_s| OffsetDateTime::from_unix_timestamp(unix_s).ok())
        .unwrap_or(OffsetDateTime::UNIX_EPOCH)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn significant_digits_are_kept() {
        assert_eq!(significant(123_456.7, 4), 123_500.0);
        assert_eq!(significant(0.001_234_56, 3), 0.001_23);
        assert!(significant(f64::NAN, 3).is_nan());
    }

    #[test]
    fn times_keep_three_digits() {
        let shown: Vec<String> = [0.0, 41.23, 99.96, 412.4, 999.6, 2351.0, 12_340.0, 123_400.0, 1_200_000.0]
            .iter()
            .map(|us| time(Some(*us)))
            .collect();
        let expected = ["0.0 us", "41.2 us", "100 us", "412 us", "1.00 ms", "2.35 ms", "12.3 ms", "123 ms", "1.20 s"];
        assert_eq!(shown, expected);
        assert_eq!(time(None), "-");
        assert_eq!(times(392.4, 1380.0), "392..1380 us");
        assert_eq!(times(31.94, 42.2), "31.9..42.2 us");
        assert_eq!(times(900.0, 12_340.0), "0.9..12.3 ms");
        assert_eq!(times(2e6, 12e6), "2.0..12.0 s");
    }

    #[test]
    fn figures_have_three_digits_or_the_unit_of_their_column() {
        assert_eq!(
            (throughput(Some(41_230.0)), throughput(Some(81.24)), throughput(None)),
            ("41.2 k/s".into(), "81.2 /s".into(), "-".into())
        );
        let shown = [0.04, 1.5, 41.26, 812.4, 98_765.4].map(|value| three_digits(Some(value)));
        assert_eq!(shown, ["0.040", "1.50", "41.3", "812", "98765"]);
        assert_eq!((time_unit([812.0, 99_000.0]), time_unit([40.0, 150e3])), (("us", 1.0), ("ms", 1e3)));
    }

    #[test]
    fn dates_follow_the_calendar() {
        assert_eq!(date(0), "1970-01-01 00:00 UTC");
        assert_eq!(date(951_782_400), "2000-02-29 00:00 UTC");
        assert_eq!(date(1_638_373_800), "2021-12-01 15:50 UTC");
        assert_eq!(date(4_107_542_399), "2100-02-28 23:59 UTC");
        assert_eq!(date(4_107_542_400), "2100-03-01 00:00 UTC");
        assert_eq!(rfc3339(951_868_799), "2000-02-29T23:59:59Z");
        assert_eq!(rfc3339(u64::MAX), "1970-01-01T00:00:00Z");
    }
}
