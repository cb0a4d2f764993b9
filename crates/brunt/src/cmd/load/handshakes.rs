//! Summary row for TLS handshakes: counts, durations, protocol versions.

use super::format::{supported, time};
use brunt_results::result::Handshakes;
use std::fmt::Write;

pub(super) fn row(handshakes: &Handshakes) -> String {
    let Handshakes { full, resumed, failed, time: summary, protocols } = handshakes;
    let mut row = format!("{full} full, {resumed} resumed, {failed} failed");
    let figures = ["mean", "p50", "p99", "max"].into_iter();
    let figures = figures.filter_map(|name| Some(format!("{name} {}", time(supported(summary, name)?))));
    let figures: Vec<String> = figures.collect();
    let protocols: Vec<&str> = protocols.keys().map(String::as_str).collect();
    for part in [figures.join(", "), protocols.join(", ")] {
        if !part.is_empty() {
            let _ = write!(row, "; {part}");
        }
    }
    row
}

#[cfg(test)]
mod tests {
    use super::*;
    use brunt_results::LatencySummary;

    #[test]
    fn a_row_has_what_there_is() {
        let mut handshakes = Handshakes { failed: 3, ..Handshakes::default() };
        assert_eq!(row(&handshakes), "0 full, 0 resumed, 3 failed");
        let figure = Some(250.0);
        handshakes = Handshakes {
            full: 2,
            resumed: 98,
            failed: 0,
            time: LatencySummary {
                count: 100,
                mean_us: figure,
                p50_us: figure,
                p99_us: figure,
                max_us: figure,
                ..LatencySummary::default()
            },
            protocols: [("TLS 1.3 X".to_owned(), 100)].into(),
        };
        // With 100 values only one lies beyond the 99th percentile.
        assert_eq!(row(&handshakes), "2 full, 98 resumed, 0 failed; mean 250 us, p50 250 us, max 250 us; TLS 1.3 X");
    }
}
