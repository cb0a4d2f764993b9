//! From totals to the result of the run.

use crate::{
    collect::Totals,
    options::{Arrival, Options, Target},
};
use outcome::{
    judge,
    result::{self, RunResult},
    series::Second,
};
use runtime::BackendKind;
use std::time::Duration;

/// Everything one load measured.
#[derive(Debug)]
pub struct Report {
    /// The result; its `server` is empty and its verdict knows nothing of the server yet.
    pub result: RunResult,
    /// `latency.hlog`: the window's histograms, one interval a second.
    pub hlog: Vec<u8>,
    /// One entry for each second, warm-up included.
    pub seconds: Vec<Second>,
    /// How the load threads talked to the kernel.
    pub backend: BackendKind,
    /// Why not in the better way, if so.
    pub fallback: Option<String>,
    /// Latencies above the histograms' range of one hour; they count as one hour.
    pub saturated: u64,
}

/// How the run went, apart from what the threads recorded.
#[derive(Debug, Clone, Default)]
pub struct Course {
    /// Ended early on request.
    pub interrupted: bool,
    /// Length of the window as it was.
    pub measured: Duration,
    /// Connections opened in all, and the most at a time.
    pub connections: (u64, u64),
    /// What became of handshakes, if there were any to be made.
    pub handshakes: Option<result::Handshakes>,
}

/// The result of a run.
pub fn result(options: &Options, course: Course, totals: &Totals) -> RunResult {
    let (request_bytes, responses) = match &options.target {
        Target::Ping { size, .. } => (Some(*size as u64), None),
        Target::Http(_) => (None, Some(totals.tally.replies.responses())),
    };
    let measured_s = course.measured.as_secs_f64();
    let tally = &totals.tally;
    let percents: Vec<(f64, f64)> = totals.threads.iter().map(|thread| thread.percent()).collect();
    let open = options.rate.is_some();
    let mut result = RunResult {
        interrupted: course.interrupted,
        load: result::Load {
            url: options.url.clone(),
            mode: if open { "open" } else { "closed" }.to_owned(),
            arrival: open.then(|| arrival_name(options.arrival).to_owned()),
            request_bytes,
            connections: options.connections as u64,
            measured_s,
            warmup_s: options.warmup.as_secs_f64(),
            seed: options.seed,
        },
        requests: result::Requests {
            completed: tally.completed,
            failed: tally.failed,
            unanswered: tally.unanswered,
            rate: if measured_s > 0.0 { tally.completed as f64 / measured_s } else { 0.0 },
            offered_rate: options.rate,
            waited: open.then_some(tally.waited),
        },
        latency: totals.latency.summary(),
        errors: tally.errors.clone(),
        connections: result::Connections { opened: course.connections.0, peak: course.connections.1 },
        handshakes: course.handshakes,
        bytes: tally.bytes.clone(),
        responses,
        generator: result::Generator {
            cpu_percent: Some(percents.iter().map(|(cpu, _)| cpu).sum()),
            spin_percent: Some(percents.iter().map(|(_, spin)| spin).sum()),
            cores: options.threads.iter().copied().flatten().collect(),
            thread_cpu_percent: percents.iter().map(|(cpu, _)| *cpu).collect(),
            // The rest only a meter outside the load threads can know.
            ..result::Generator::default()
        },
        ..RunResult::new("brunt")
    };
    result.verdict = judge::judge(&result, None);
    result
}

fn arrival_name(arrival: Arrival) -> &'static str {
    match arrival {
        Arrival::Constant => "constant",
        Arrival::Poisson => "poisson",
    }
}
