//! The Ctrl-Z test: quantiles of a target that stands still for a known time, at a known rate, in closed form.
//!
//! With a stall of length S in a window of length D at a constant rate, the share S/D of all requests is intended during the
//! stall, and each of them waits for the rest of it: uniform on (0, S). So for q > 1 - S/D the quantile is
//! S (1 - (1-q) D/S), the median is that of a target without a stall, and the mean is S^2 / 2D. A closed loop, or an open
//! one that forgets the requests it could not send, shows one slow request for each connection instead.

use crate::targets::{get, reply, serve};
use crate::worlds::{LAG, MS, Run, SECOND, US, WAY, exact, open, run, times};
use brunt_load::Options;
use brunt_load::http::Pipeline;
use brunt_results::LatencySummary;
use brunt_results::verdict::Kind;
use brunt_runtime::sim;
use std::time::Duration;

const STALL: Duration = SECOND;
const WINDOW: Duration = Duration::from_secs(5);
/// Most of what a request waits behind the stall, for those that are due before it.
const BACKLOG: Duration = Duration::from_millis(2);

#[test]
fn a_stall_of_a_second_shows_in_every_quantile_as_computed() {
    // Two seconds into the window.
    let stalls = |number| {
        if number == 4000 {
            sim::spend(STALL);
        }
        reply()
    };
    let options = Options { duration: WINDOW, ..open(get(Pipeline::NONE, None), 1000.0, 20, 1) };
    let Run { report, responses, .. } = run(&exact(), &options, serve(stalls, 1).0).unwrap();
    let result = report.result;
    assert_eq!((result.requests.completed, result.requests.unanswered, result.errors.total()), (5000, 0, 0));
    assert_eq!(responses.len(), 5000);
    let (stall_s, window_s) = (STALL.as_secs_f64(), WINDOW.as_secs_f64());
    for q in [0.85, 0.9, 0.99, 0.999, 1.0] {
        let theory = Duration::from_secs_f64(stall_s * (1.0 - (1.0 - q) * window_s / stall_s));
        let found = Duration::from_nanos(responses.value_at_quantile(q));
        // A value of the histogram is precise to a thousandth.
        assert!((theory - 2 * MS..theory + BACKLOG).contains(&found), "{q}: {found:?}, not {theory:?}");
    }
    let mean = Duration::from_secs_f64(stall_s * stall_s / (2.0 * window_s));
    let found = Duration::from_nanos(responses.mean() as u64);
    assert!((mean..mean + BACKLOG).contains(&found), "{found:?}, not {mean:?}");
    assert!(responses.value_at_quantile(0.5) <= (LAG + WAY + US).as_nanos() as u64);
    // The stalled request and nineteen more are on their connections. The others wait in the generator, and so does the first one
    // behind the stall, before which the backlog is served. That is no lag of its own, and service times do not have it.
    assert_eq!(result.requests.waited, Some(982));
    assert_eq!(result.latency.lag, LatencySummary::of(&times(5000, LAG)));
    assert_eq!(result.latency.service.p90_us, LatencySummary::of(&times(5000, WAY)).p90_us);
    assert_eq!((result.verdict.kind, result.verdict.why), (Kind::Ok, Vec::new()));
}
