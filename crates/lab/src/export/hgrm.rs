//! HdrHistogram's percentile format: value, percentile, cumulative count, 1 / (1 - percentile).

use hdrhistogram::Histogram;
use std::fmt::Write;

/// Steps per halving of the remaining share, as in other tools.
const STEPS: u32 = 5;
const SCALE: f64 = 1e6;

/// With `note` as a comment at the end.
pub(super) fn text(histogram: &Histogram<u64>, note: Option<&str>) -> String {
    let mut text = format!("{:>12} {:>14} {:>10} {:>14}\n\n", "Value", "Percentile", "TotalCount", "1/(1-Percentile)");
    let mut count = 0;
    for step in histogram.iter_quantiles(STEPS) {
        count += step.count_since_last_iteration();
        let (value, share) = (step.value_iterated_to() as f64 / SCALE, step.quantile_iterated_to());
        let _ = match share < 1.0 {
            true => writeln!(text, "{value:12.6} {share:.12} {count:10} {:14.2}", 1.0 / (1.0 - share)),
            false => writeln!(text, "{value:12.6} {share:.12} {count:10}"),
        };
    }
    let (mean, deviation, max) = (histogram.mean() / SCALE, histogram.stdev() / SCALE, histogram.max() as f64 / SCALE);
    let (buckets, halves) = (histogram.buckets(), histogram.distinct_values());
    let _ = writeln!(text, "#[Mean    = {mean:12.6}, StdDeviation   = {deviation:12.6}]");
    let _ = writeln!(text, "#[Max     = {max:12.6}, Total count    = {:12}]", histogram.len());
    let _ =
        writeln!(text, "#[Buckets = {buckets:12}, SubBuckets     = {:12}]", (2 * halves) / (usize::from(buckets) + 1));
    if let Some(note) = note {
        let _ = writeln!(text, "#[{note}]");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use brunt_results::latency::new_histogram;

    #[test]
    fn every_line_says_how_many_values_lie_up_to_it() {
        let mut histogram = new_histogram();
        (1..=1000u64).for_each(|ms| histogram.record(ms * 1_000_000).unwrap());
        let text = text(&histogram, None);
        let rows: Vec<Vec<f64>> = text
            .lines()
            .skip(2)
            .filter(|line| !line.starts_with('#'))
            .map(|line| line.split_whitespace().map(|field| field.parse().unwrap()).collect())
            .collect();
        for row in &rows {
            assert!((row[0] / row[2].max(1.0) - 1.0).abs() < 0.002, "{row:?}");
            assert!(row[2] / 1000.0 >= row[1] - 1e-9, "{row:?}");
        }
        let last = rows.last().unwrap();
        assert!(last.len() == 3 && last[1] == 1.0 && last[2] == 1000.0, "{text}");
        assert!(
            text.contains("Total count    =         1000]") && text.contains("SubBuckets     =         2048]"),
            "{text}"
        );
    }
}
