//! Counts of a service's requests in short intervals, one JSON object a line: `brunt load --counts` writes them, and any program
//! can.

use serde::{Deserialize, Serialize};

/// Requests of an interval. Each counts once: when it ends, or in flight when it becomes slow. Intervals follow each other.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Counts {
    /// End of the interval in seconds of CLOCK_MONOTONIC of the same host; without it, the time at which the line arrives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<f64>,
    /// Length of the interval.
    pub seconds: f64,
    pub count: u64,
    /// Of these, slower than the objective's limit, or failed.
    pub slow: u64,
    /// Of the slow ones, failed within the limit: refused, or answered by an error. They say nothing of latency.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub failed: u64,
    /// The objective's quantile over the response times of a second, in milliseconds.
    pub latency_ms: f64,
    /// Requests offered to the service, a second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offered: Option<f64>,
    /// The same as a share of the service's peak.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<f64>,
}

/// Longest interval, in seconds, and highest load: what is beyond them is a mistake.
const LONGEST: f64 = 3600.0;
const MOST_LOAD: f64 = 20.0;

fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl Counts {
    /// Reads one line.
    ///
    /// # Errors
    /// It is no JSON object of this form, or a figure has an impossible value.
    pub fn of_line(line: &str) -> Result<Self, String> {
        let counts: Self = serde_json::from_str(line).map_err(|error| error.to_string())?;
        let Self { end, seconds, count, slow, failed, latency_ms, offered, load } = counts;
        let wrong = |value: f64| !value.is_finite() || value < 0.0;
        let figures = [("end", end), ("latency_ms", Some(latency_ms)), ("offered", offered), ("load", load)];
        if let Some((name, value)) = figures.iter().find(|(_, value)| value.is_some_and(wrong)) {
            return Err(format!("{name} is {}; it must be at least 0", value.unwrap_or_default()));
        }
        if wrong(seconds) || seconds == 0.0 || seconds > LONGEST {
            return Err(format!("seconds is {seconds}; it must be more than 0, and at most {LONGEST}"));
        }
        if load.is_some_and(|load| load > MOST_LOAD) {
            let load = load.unwrap_or_default();
            return Err(format!(
                "load is {load}: it is a share of the peak, 0.5 for half of it, and at most {MOST_LOAD}"
            ));
        }
        if slow > count {
            return Err(format!("slow is {slow}, more than count, {count}"));
        }
        if failed > slow {
            return Err(format!("failed is {failed}, more than slow, {slow}: what has failed is slow, too"));
        }
        Ok(counts)
    }

    /// The line, with its end.
    pub fn line(&self) -> String {
        let mut line = serde_json::to_string(self).unwrap_or_default();
        line.push('\n');
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_back_and_impossible_figures_are_named() {
        let counts = Counts {
            end: Some(5.25),
            seconds: 0.1,
            count: 20,
            slow: 3,
            failed: 1,
            latency_ms: 1.5,
            ..Default::default()
        };
        assert_eq!(Counts::of_line(&counts.line()), Ok(counts));
        for (line, needle) in [
            (r#"{"seconds":0,"count":1,"slow":0,"latency_ms":1}"#, "seconds is 0"),
            (r#"{"seconds":1e9,"count":1,"slow":0,"latency_ms":1}"#, "at most 3600"),
            (r#"{"seconds":1,"count":1,"slow":0,"latency_ms":1,"load":50}"#, "load is 50: it is a share of the peak"),
            (r#"{"seconds":1,"count":1,"slow":2,"latency_ms":1}"#, "slow is 2"),
            (r#"{"seconds":1,"count":2,"slow":1,"failed":2,"latency_ms":1}"#, "failed is 2, more than slow, 1"),
            (r#"{"seconds":1,"count":1,"slow":0,"latency_ms":-1}"#, "latency_ms is -1"),
            (r#"{"seconds":1,"count":1,"slow":0,"latency_ms":1,"load":-0.5}"#, "load is -0.5"),
            (r#"{"seconds":1,"count":1.5,"slow":0,"latency_ms":1}"#, "1.5"),
            (r#"{"seconds":1,"count":1,"slow":0}"#, "latency_ms"),
            (r#"{"seconds":1"#, "EOF"),
        ] {
            let error = Counts::of_line(line).unwrap_err();
            assert!(error.contains(needle), "{line}: {error}");
        }
    }
}
