//! Response times with this median.

use brunt_results::LatencySummary;

pub fn summary(count: u64, p50: f64) -> LatencySummary {
    LatencySummary {
        count,
        mean_us: Some(p50 * 1.1),
        p50_us: Some(p50),
        p90_us: Some(p50 * 1.5),
        p99_us: Some(p50 * 2.0),
        p999_us: Some(p50 * 4.0),
        max_us: Some(p50 * 9.0),
        ..LatencySummary::default()
    }
}
