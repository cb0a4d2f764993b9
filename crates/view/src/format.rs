//! Number formatting for people: fitting unit, three significant digits, `-` for absent figures.

use brunt_results::{LatencySummary, latency::share_beyond};
use brunt_statistics::supports_quantile;

pub fn time(us: f64) -> String {
    scaled(us * 1e3, 1e3, [" ns", " us", " ms", " s"])
}

/// Formats in the first unit with fewer than four digits, or the last; each is `step` times the one before.
fn scaled(mut value: f64, step: f64, units: [&str; 4]) -> String {
    let mut unit = 0;
    while value >= 999.5 && unit < 3 {
        (value, unit) = (value / step, unit + 1);
    }
    format!("{}{}", three_digits(value), units[unit])
}

/// Formats three significant digits, without an exponent.
pub(crate) fn three_digits(value: f64) -> String {
    match value.abs() {
        v if v == 0.0 || v >= 99.95 => format!("{value:.0}"),
        v if v >= 9.995 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

/// Formats requests per second; whole numbers from 100 up.
pub fn rate(per_second: f64) -> String {
    format!("{} requests/s", three_digits(per_second))
}

pub fn bytes(bytes: f64) -> String {
    if bytes < 999.5 {
        format!("{bytes:.0} B")
    } else {
        scaled(bytes / 1024.0, 1024.0, [" KiB", " MiB", " GiB", " TiB"])
    }
}

pub(crate) fn percent(percent: f64) -> String {
    format!("{percent:.1} %")
}

/// Formats a large count: 950, 12.3k, 4.56M.
pub(crate) fn amount(value: f64) -> String {
    scaled(value, 1e3, ["", "k", "M", "G"])
}

pub(crate) fn or_dash(value: Option<f64>, show: impl Fn(f64) -> String) -> String {
    value.map_or_else(|| "-".to_owned(), show)
}

/// A number of connections; the most if it `changes`.
pub fn connections(most: u64, changes: bool) -> String {
    format!("{}{}", if changes { "up to " } else { "" }, plural(most, "connection"))
}

/// Formats a count with its noun: `1 thread`, `2 threads`.
pub fn plural(count: u64, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// A time of the distribution, `-` if too few values lie beyond it, and `> ` before what is a lower bound.
pub(crate) fn shown(summary: &LatencySummary, column: &str) -> String {
    or_dash(supported(summary, column), |us| at_least(us, summary.is_bound(column)))
}

/// A time, which may be a lower bound.
pub(crate) fn at_least(us: f64, is_bound: bool) -> String {
    if is_bound { format!("> {}", time(us)) } else { time(us) }
}

/// The figure, if enough values lie beyond it.
pub(crate) fn supported(summary: &LatencySummary, column: &str) -> Option<f64> {
    let is_supported = |beyond| supports_quantile(summary.count as f64, beyond);
    summary.figure(column).flatten().filter(|_| share_beyond(column).is_none_or(is_supported))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits_are_shown_in_a_fitting_unit() {
        for (us, shown) in [
            (0.0, "0 ns"),
            (0.25, "250 ns"),
            (1.0, "1.00 us"),
            (98.12, "98.1 us"),
            (999.4, "999 us"),
            (999.6, "1.00 ms"),
            (12_345.0, "12.3 ms"),
            (1_500_000.0, "1.50 s"),
            (120e6, "120 s"),
        ] {
            assert_eq!(time(us), shown);
        }
        assert_eq!((bytes(100.0), bytes(1024.0 * 1536.0)), ("100 B".into(), "1.50 MiB".into()));
        assert_eq!((amount(950.0), amount(12_345.0), amount(4.56e6)), ("950".into(), "12.3k".into(), "4.56M".into()));
        assert_eq!((rate(45_678.9), rate(0.5)), ("45679 requests/s".into(), "0.50 requests/s".into()));
        assert_eq!(
            (or_dash(None, time), plural(1, "thread"), plural(0, "error")),
            ("-".into(), "1 thread".into(), "0 errors".into())
        );
    }
}
