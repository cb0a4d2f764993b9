//! Detailed percentiles of the response time, for `--latency`.
//!
//! Each step halves or thirds the remaining share. The list ends where fewer than ten values remain: further
//! percentiles depend on single requests.

use crate::format::time;
use brunt_results::judge::BEYOND_QUANTILE;
use hdrhistogram::Histogram;
use std::fmt::Write;

const STEPS: [f64; 17] =
    [1.0, 5.0, 10.0, 25.0, 50.0, 75.0, 80.0, 85.0, 90.0, 95.0, 98.0, 99.0, 99.5, 99.9, 99.95, 99.99, 99.999];

/// Formats the list, ending in a newline; `histogram` is in nanoseconds.
pub fn page(histogram: &Histogram<u64>) -> String {
    let mut page = String::from("\n  percentiles of the response time\n");
    let count = histogram.len() as f64;
    for step in STEPS {
        let beyond = count * (100.0 - step) / 100.0;
        if beyond + 1e-6 < BEYOND_QUANTILE {
            break;
        }
        let us = histogram.value_at_quantile(step / 100.0) as f64 / 1e3;
        let _ = writeln!(page, "  {step:>9}% {:>9}   {beyond:.0} requests took longer", time(us));
    }
    if !histogram.is_empty() {
        let us = histogram.max() as f64 / 1e3;
        let _ = writeln!(page, "  {:>10} {:>9}   of {count:.0} requests", "max", time(us));
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;
    use brunt_results::latency::new_histogram;

    #[test]
    fn the_list_ends_where_ten_values_are_left() {
        let mut histogram = new_histogram();
        (1..=1000u64).for_each(|ms| histogram.record(ms * 1_000_000).unwrap());
        let page = page(&histogram);
        let last: Vec<&str> = page.lines().rev().take(2).collect();
        assert!(last[0].contains("max") && last[0].contains("1.00 s") && last[0].contains("of 1000"), "{page}");
        assert!(last[1].contains("99%") && last[1].contains("990 ms") && last[1].contains("10 requests"), "{page}");
        assert!(super::page(&new_histogram()).lines().count() == 2);
    }
}
