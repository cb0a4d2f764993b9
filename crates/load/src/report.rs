//! The result of a run, from its totals.

use crate::measure::breakdown::{Part, Parts};
use crate::measure::collector::Totals;
use crate::{http::Http, options::Options, schedule::Arrival};
use brunt_results::result::{self, Named, RunResult};
use brunt_results::{LatencySummary, judge, series::Second};
use brunt_runtime::BackendKind;
use std::time::Duration;

#[derive(Debug)]
pub struct Report {
    /// Without `server`, and with a verdict that does not consider it.
    pub result: RunResult,
    /// `latency.hlog`: the window's histograms, one interval a second.
    pub hlog: Vec<u8>,
    /// One entry for each second, warm-up included.
    pub seconds: Vec<Second>,
    pub backend: BackendKind,
    /// Why the backend is not io_uring.
    pub fallback: Option<String>,
    /// Latencies above the histograms' range of one hour; they count as one hour.
    pub saturated: u64,
    /// Exit reason of a process that was lost during the load, which ended the run.
    pub lost: Option<String>,
}

/// What the threads recorded in a window of this length; the caller adds the course of the run.
pub fn result(options: &Options, measured: Duration, totals: &Totals) -> RunResult {
    let target = &options.target;
    let measured_s = measured.as_secs_f64();
    let counters = &totals.counters;
    let percents: Vec<(f64, f64)> = totals.threads.iter().map(|thread| thread.percent()).collect();
    let (cores, thread_cpu_percent) = by_core(&options.threads, &percents);
    let (open, has_window) = (options.rate.is_some(), measured_s > 0.0);
    let mut result = RunResult {
        load: load(options, measured_s),
        requests: result::Requests {
            completed: counters.completed,
            failed: counters.of_window.failed,
            unanswered: counters.unanswered,
            abandoned: counters.abandoned,
            left_us: Some(counters.left_ns as f64 / 1e3).filter(|left| *left > 0.0),
            rate: if has_window { counters.completed as f64 / measured_s } else { 0.0 },
            offered_rate: options.rate,
            due: open.then_some(totals.due),
            waited: open.then_some(counters.waited),
        },
        sends: counters.sends.sends().filter(|_| open),
        latency: totals.latency.summary(&options.percentiles, target.http().is_some()),
        errors: counters.of_window.errors.clone(),
        bytes: counters.bytes.clone(),
        connections: result::Connections {
            closed_after: counters.closed_after.filter(|[fewest, most]| fewest == most).map(|[replies, _]| replies),
            kept_open: Some(counters.kept_open).filter(|count| *count > 0),
            ..result::Connections::default()
        },
        responses: target.http().map(|_| result::Responses {
            apart: Some(counters.apart).filter(|apart| apart.from_20_to_80_ms > 0),
            ..counters.replies.responses()
        }),
        generator: result::Generator {
            cpu_percent: has_window.then(|| percents.iter().map(|(cpu, _)| cpu).sum()),
            spin_percent: has_window.then(|| percents.iter().map(|(_, spin)| spin).sum()),
            cores,
            thread_cpu_percent: if has_window { thread_cpu_percent } else { Vec::new() },
            // The rest comes from a meter outside the load threads.
            ..result::Generator::default()
        },
        ..RunResult::new("brunt")
    };
    // Where all replies were refused, their times are those of errors: what a few others waited is no answer of the target.
    let response = &mut result.latency.response;
    if counters.completed == 0
        && response.count == response.censored
        && result.errors.status + result.errors.mismatch > 0
    {
        *response = LatencySummary { count: response.count, censored: response.censored, ..LatencySummary::default() };
    }
    result.verdict = judge::judge(&result, None);
    result
}

/// Adds the figures of names and of steps. A step that the end of the window cut off has none.
pub fn add_parts(result: &mut RunResult, options: &Options, parts: Parts) {
    let measured_s = result.load.measured_s;
    let names = options.target.http().map_or_else(Vec::new, Http::given_names);
    // A script may have named requests of the warm-up alone.
    let parts_of_names = parts.names.into_iter().chain(std::iter::repeat_with(Part::default));
    let named = names.into_iter().zip(parts_of_names);
    let named = named.map(|(name, part)| Named { name, figures: part.figures(measured_s, &options.percentiles) });
    result.names = named.collect();
    let steps = options.steps().into_iter().zip(parts.steps);
    let steps =
        steps.filter(|(step, _)| step.end.as_secs_f64() <= measured_s + 1e-3).map(|(step, part)| result::Step {
            start_s: step.start.as_secs_f64(),
            end_s: step.end.as_secs_f64(),
            offered_rate: (!options.stages.is_empty()).then_some(step.mean),
            connections: options.stages.is_empty().then_some(step.mean),
            figures: part.figures((step.end - step.start).as_secs_f64(), &options.percentiles),
        });
    result.steps = steps.collect();
}

/// What was asked for, and the length of the window.
pub fn load(options: &Options, measured_s: f64) -> result::Load {
    let target = &options.target;
    let open = options.rate.is_some();
    result::Load {
        url: options.url.clone(),
        protocol: Some(target.protocol().to_owned()),
        mode: if open { "open" } else { "closed" }.to_owned(),
        arrival: open.then(|| match (&options.replay, options.arrival) {
            (Some(_), _) => "recorded".to_owned(),
            (None, Arrival::Constant) => "constant".to_owned(),
            (None, Arrival::Poisson) => "poisson".to_owned(),
        }),
        spread: open.then(|| options.direct.spread().word().to_owned()),
        send_tick_us: options.direct.send_tick.map(|tick| tick.0.as_secs_f64() * 1e6),
        request_bytes: target.request_bytes(),
        vary: target.http().and_then(Http::variants).map(u64::from),
        connections: options.connections as u64,
        requests: options.requests,
        measured_s,
        warmup_s: options.warmup.as_secs_f64(),
        seed: options.seed,
    }
}

/// Cores of the threads and the CPU use of each; the sum for threads that share a core, as those of several processes may.
fn by_core(threads: &[Option<usize>], percents: &[(f64, f64)]) -> (Vec<usize>, Vec<f64>) {
    let mut cores: Vec<usize> = Vec::new();
    let mut sums = Vec::new();
    for (core, (cpu, _)) in threads.iter().zip(percents) {
        match core.and_then(|core| cores.iter().position(|other| *other == core)) {
            Some(index) => sums[index] += cpu,
            None => {
                cores.extend(core);
                sums.push(*cpu);
            }
        }
    }
    (cores, sums)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_on_one_core_are_added_up_and_unpinned_ones_are_not() {
        let percents = [(1.0, 0.0), (2.0, 0.0), (4.0, 0.0), (8.0, 0.0)];
        let by = |threads: &[Option<usize>]| by_core(threads, &percents);
        assert_eq!(by(&[Some(3), Some(5), Some(3), Some(5)]), (vec![3, 5], vec![5.0, 10.0]));
        assert_eq!(by(&[None; 4]), (vec![], vec![1.0, 2.0, 4.0, 8.0]));
    }
}
