//! A line of `series.jsonl` as it is read while a load goes on.

use super::{Second, SoFar};
use serde::Deserialize;

/// The longest time that a line may name, in seconds: years.
const LONGEST_S: f64 = 1e9;
/// The highest count: sums of as many as there are cannot overflow.
const MOST: u64 = 1 << 40;

/// A line of `series.jsonl` as views read it: the fields are those of [`Second`], and any may be absent, as what only another tester
/// knows is.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Line {
    pub at_s: f64,
    pub warmup: bool,
    pub offered: Option<u64>,
    pub completed: Option<u64>,
    pub failed: Option<u64>,
    pub connections: Option<u64>,
    pub censored_share: Option<f64>,
    pub p50_us: Option<f64>,
    pub p99_us: Option<f64>,
    pub p999_us: Option<f64>,
    pub lag_p99_us: Option<f64>,
    pub generator_cpu_percent: Option<f64>,
    pub server_cpu_user_percent: Option<f64>,
    pub server_cpu_system_percent: Option<f64>,
    pub server_rss_bytes: Option<u64>,
    pub server_threads: Option<u64>,
    pub host_steal_percent: Option<f64>,
    pub so_far: Option<Box<SoFar>>,
}

impl Line {
    /// `None` for half a line, and for figures that no load has.
    pub fn parse(text: &[u8]) -> Option<Self> {
        let line: Self = serde_json::from_slice(text).ok()?;
        let counts = [line.offered, line.completed, line.failed, line.connections].into_iter().flatten().max();
        let so_far = line.so_far.iter().flat_map(|so_far| {
            let errors = so_far.errors.by_kind().map(|(_, count)| count);
            errors.into_iter().chain([so_far.response.count, so_far.waited])
        });
        let is_possible = line.at_s > 0.0 && line.at_s < LONGEST_S && so_far.chain(counts).all(|count| count <= MOST);
        is_possible.then_some(line)
    }

    /// Whether the quantile falls among requests without a complete reply, and so is a lower bound.
    pub fn is_bound(&self, quantile: f64) -> bool {
        self.censored_share.is_some_and(|share| quantile > 1.0 - share)
    }

    /// CPU of the server in percent of a core.
    pub fn server_cpu_percent(&self) -> Option<f64> {
        Some(self.server_cpu_user_percent? + self.server_cpu_system_percent?)
    }
}

impl From<&Second> for Line {
    fn from(second: &Second) -> Self {
        Self {
            at_s: second.at_s,
            warmup: second.warmup,
            offered: second.offered,
            completed: Some(second.completed),
            failed: Some(second.failed),
            connections: Some(second.connections),
            censored_share: second.censored_share,
            p50_us: second.p50_us,
            p99_us: second.p99_us,
            p999_us: second.p999_us,
            lag_p99_us: second.lag_p99_us,
            generator_cpu_percent: second.generator_cpu_percent,
            server_cpu_user_percent: second.server_cpu_user_percent,
            server_cpu_system_percent: second.server_cpu_system_percent,
            server_rss_bytes: second.server_rss_bytes,
            server_threads: second.server_threads,
            host_steal_percent: second.host_steal_percent,
            so_far: second.so_far.clone(),
        }
    }
}
