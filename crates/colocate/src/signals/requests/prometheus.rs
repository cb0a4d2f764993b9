//! A histogram of response times among a service's metrics.

use super::buckets::{Delta, Histograms};
use super::{feed::Feed, get::Url, invalid};
use crate::clock;
use crate::objective::Objective;
use brunt_results::counts::Counts;
use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

const TIMEOUT: Duration = Duration::from_secs(2);
/// Time of which the quantile is taken, in seconds.
const WINDOW: f64 = 1.0;

/// Looks at the metrics in a thread, until the feed is stopped.
pub fn start(feed: &Arc<Feed>, url: &str, name: &str, every: Duration, objective: Objective) -> io::Result<()> {
    let parsed = Url::parse(url)?;
    if parsed.http.is_none() {
        return Err(invalid(format!("'{url}': metrics are read over http://")));
    }
    if name.is_empty() {
        return Err(invalid(format!("no histogram of '{url}' is named")));
    }
    let name = name.strip_suffix("_bucket").unwrap_or(name).to_owned();
    let mut metric = Metric { per_ms: per_ms(&name), name, objective, last: None, recent: VecDeque::new() };
    let (feed, url) = (Arc::clone(feed), url.to_owned());
    let work = move || {
        let mut next = clock::now();
        while !feed.is_stopped() && feed.failure().is_none() {
            // Of a moment between question and answer: the earlier one is the older reading.
            let asked = clock::now();
            match parsed.get(TIMEOUT) {
                Ok(text) => metric.take(&text, feed.seconds(asked), &feed),
                Err(error) => feed.warn("metrics", format!("cannot read {url}: {error}")),
            }
            next = (next + every).max(clock::now());
            clock::sleep_until(next);
        }
    };
    thread::Builder::new().name("metrics".to_owned()).spawn(work).map(drop)
}

/// Units of the metric in a millisecond, by the end of its name; seconds, as is the custom, without another.
fn per_ms(name: &str) -> f64 {
    let units = [("_milliseconds", 1.0), ("_ms", 1.0), ("_microseconds", 1e3), ("_us", 1e3), ("_nanoseconds", 1e6)];
    units.iter().find(|(suffix, _)| name.ends_with(suffix)).map_or(1e-3, |(_, per_ms)| *per_ms)
}

struct Metric {
    name: String,
    /// Units of the metric in a millisecond.
    per_ms: f64,
    objective: Objective,
    /// What was seen last, and when.
    last: Option<(f64, Histograms)>,
    /// Requests of the last second, each with its end.
    recent: VecDeque<(f64, Delta)>,
}

impl Metric {
    fn take(&mut self, text: &str, at: f64, feed: &Feed) {
        let found = Histograms::of_text(text, &self.name);
        if found.is_empty() {
            let why = format!("there is no histogram {0} among the metrics: no line begins with {0}_bucket", self.name);
            return feed.warn("histogram", why);
        }
        let limit = match found.bound(self.objective.limit_ms * self.per_ms) {
            Ok(limit) => limit,
            Err(nearest) => return feed.fail(self.no_bound(nearest)),
        };
        let Some((before, old)) = self.last.replace((at, found.clone())) else { return };
        let delta = found.since(&old);
        let counts = Counts {
            end: Some(at),
            seconds: at - before,
            count: delta.count(),
            slow: delta.above(limit),
            failed: 0,
            offered: Some(delta.count() as f64 / (at - before)),
            latency_ms: self.latency_ms(at, delta),
            load: None,
        };
        feed.add(counts);
    }

    /// Quantile of the last second; 0 if no request ended.
    fn latency_ms(&mut self, at: f64, delta: Delta) -> f64 {
        self.recent.push_back((at, delta));
        while self.recent.len() > 1 && self.recent.front().is_some_and(|(end, _)| *end <= at - WINDOW) {
            self.recent.pop_front();
        }
        let mut sum = Delta::default();
        self.recent.iter().for_each(|(_, delta)| sum.add(delta));
        sum.quantile(self.objective.quantile).unwrap_or(0.0) / self.per_ms
    }

    fn no_bound(&self, (below, above): (Option<f64>, Option<f64>)) -> String {
        let nearest: Vec<String> =
            [below, above].into_iter().flatten().map(|bound| format!("{} ms", bound / self.per_ms)).collect();
        format!(
            "the limit {} ms is no bound of the buckets of {}: choose one of the nearest, {}",
            self.objective.limit_ms,
            self.name,
            nearest.join(" or ")
        )
    }
}
