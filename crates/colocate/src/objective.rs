//! The objective of the LC service: a quantile of its response times stays below a limit.

use serde::{Deserialize, Serialize};

/// "p99 at most 6 ms" is the same as "at most 1 % of requests take longer than 6 ms": counts can be added, quantiles cannot.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Objective {
    /// Between 0 and 1.
    pub quantile: f64,
    pub limit_ms: f64,
}

/// `p99 < 6 ms`, where it stands in results as these two numbers.
pub fn words(quantile: f64, limit_ms: f64) -> String {
    // A quantile is computed from a share beyond it: without the error of that.
    format!("p{} < {limit_ms} ms", (quantile * 1e9).round() / 1e7)
}

impl Objective {
    /// Largest share of slow requests.
    pub fn budget(self) -> f64 {
        1.0 - self.quantile
    }

    /// Whether more requests are slow than it allows.
    pub fn is_missed(self, slow: u64, count: u64) -> bool {
        slow as f64 > self.budget() * count as f64
    }

    /// Distance of a latency from the limit, as a share of the limit; negative beyond it.
    pub fn slack(self, latency_ms: f64) -> f64 {
        1.0 - latency_ms / self.limit_ms
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn it_is_printed_as_it_was_typed() {
        for (quantile, words) in [(0.99, "p99 < 6.5 ms"), (1.0 - 1e-7, "p99.99999 < 6.5 ms"), (0.5, "p50 < 6.5 ms")] {
            assert_eq!(super::words(quantile, 6.5), words);
        }
    }
}
