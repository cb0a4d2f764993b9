//! Additional columns of HTTP experiments: service time and its tail relative to its median, sockets, reply size.
//!
//! Service time, because every tester reports it; see `testers`.

use crate::format;
use crate::stats::{median, percentile_median, supported};
use brunt_results::{LatencySummary, RunResult};

/// Medians over the repeats of one cell; absent if replies have no statuses.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Figures {
    pub p50_us: Option<f64>,
    /// In percent of the median.
    pub p90_percent: Option<f64>,
    pub p99_percent: Option<f64>,
    pub p999_percent: Option<f64>,
    pub sockets: Option<f64>,
    /// Head and body if the tester counts both, else the body.
    pub bytes_per_response: Option<f64>,
}

/// Two header lines, weight and text of a column; see [`super::tables::columns`].
pub(super) type Shown<F> = (&'static str, &'static str, u8, fn(&F) -> String);

pub(super) const COLUMNS: &[Shown<Figures>] = &[
    ("service", "p50", 4, |f| format::time(f.p50_us)),
    ("p90", "/p50", 4, |f| percent(f.p90_percent)),
    ("p99", "/p50", 4, |f| percent(f.p99_percent)),
    ("p99.9", "/p50", 5, |f| percent(f.p999_percent)),
    ("sockets", "used", 5, |f| format::number(f.sockets, 0)),
    ("bytes", "per resp", 6, |f| format::number(f.bytes_per_response, 0)),
];

fn percent(value: Option<f64>) -> String {
    value.map_or(format::ABSENT.to_owned(), |value| format!("{value:.0} %"))
}

impl Figures {
    pub(super) fn of(results: &[Box<RunResult>]) -> Self {
        if !results.iter().any(|result| result.responses.is_some()) {
            return Self::default();
        }
        let service = |figure: fn(&LatencySummary) -> Option<f64>| {
            percentile_median(results.iter().map(|result| figure(&result.latency.service)))
        };
        // Ratios are formed within a trial, because trials differ in speed.
        let share = |figure: fn(&LatencySummary) -> Option<f64>| {
            percentile_median(results.iter().map(|result| {
                let of = &result.latency.service;
                Some(figure(of)? / of.p50_us.filter(|p50| *p50 > 0.0)? * 100.0)
            }))
        };
        let of = |figure: fn(&RunResult) -> Option<f64>| median(results.iter().map(|result| figure(result)));
        Self {
            p50_us: service(|s| supported(s, 0.5, s.p50_us)),
            p90_percent: share(|s| supported(s, 0.9, s.p90_us)),
            p99_percent: share(|s| supported(s, 0.99, s.p99_us)),
            p999_percent: share(|s| supported(s, 0.999, s.p999_us)),
            sockets: of(|r| (r.connections.opened > 0).then_some(r.connections.opened as f64)),
            bytes_per_response: of(bytes_per_response),
        }
    }
}

/// Includes failed replies, because their bytes are counted too.
fn bytes_per_response(result: &RunResult) -> Option<f64> {
    let bytes = match result.bytes.received {
        0 => result.responses.as_ref()?.body_bytes?,
        all => all,
    };
    let replies = result.requests.completed + result.errors.status;
    (replies > 0).then(|| bytes as f64 / replies as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use brunt_results::result::{Bytes, Connections, Requests, Responses};

    fn trial(p50: f64, p99: f64, received: u64) -> Box<RunResult> {
        let mut result = RunResult::new("any");
        let times = LatencySummary { count: 5000, p50_us: Some(p50), p99_us: Some(p99), ..LatencySummary::default() };
        result.latency.service = times;
        result.requests = Requests { completed: 90, ..Requests::default() };
        result.errors.status = 10;
        result.connections = Connections { opened: 7, peak: 5, ..Default::default() };
        result.bytes = Bytes { sent: 0, received };
        result.responses = Some(Responses { body_bytes: Some(1100), ..Responses::default() });
        Box::new(result)
    }

    #[test]
    fn a_tail_is_held_against_the_middle_of_its_own_trial() {
        let figures =
            Figures::of(&[trial(100.0, 300.0, 15_900), trial(200.0, 400.0, 15_900), trial(400.0, 440.0, 15_900)]);
        assert_eq!((figures.p50_us, figures.p99_percent), (Some(200.0), Some(200.0)));
        assert_eq!((figures.p90_percent, figures.p999_percent), (None, None));
        assert_eq!((figures.sockets, figures.bytes_per_response), (Some(7.0), Some(159.0)));
        // Without counted heads, body bytes are used.
        assert_eq!(Figures::of(&[trial(1.0, 2.0, 0)]).bytes_per_response, Some(11.0));
    }

    #[test]
    fn where_replies_say_nothing_there_is_nothing_to_show() {
        let mut ping = trial(100.0, 300.0, 15_900);
        ping.responses = None;
        assert_eq!(Figures::of(&[ping]), Figures::default());
        assert_eq!(Figures::of(&[]), Figures::default());
    }
}
