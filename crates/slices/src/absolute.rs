//! The figures of one target in one start, for `result.json`: of the rounds in which the machine was fastest.
//!
//! The machine's speed in a round is told by the *other* targets: rounds chosen by the target's own slices would favour
//! chance. So the figures are those of the machine's better moments, equally for all targets.

use crate::record::Slice;
use brunt_results::LatencySummary;
use brunt_results::hlog::Counts;
use brunt_results::latency::new_histogram;
use brunt_results::result::{Bytes, Generator, Latency, Load, Requests, Responses, RunResult, SendCounts, Server};
use brunt_statistics::median;
use hdrhistogram::Histogram;
use std::collections::BTreeMap;

/// Share of the rounds that count.
const SHARE: f64 = 0.25;
/// Least number of rounds, and of replies, that count.
const ROUNDS: usize = 5;
const REPLIES: u64 = 20_000;

/// Of `slices` of one start, those of `target` in the machine's best rounds.
pub fn best<'s>(slices: &'s [Slice], target: &str) -> Vec<&'s Slice> {
    let mut own: Vec<(f64, &Slice)> = slices
        .iter()
        .filter(|slice| slice.target == target)
        .map(|slice| (speed(slices, target, slice.round), slice))
        .collect();
    // Stable: without other targets, in the order of time.
    own.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    let share = (own.len() as f64 * SHARE).ceil() as usize;
    let mut replies = 0;
    let enough = own.iter().take_while(|(_, slice)| {
        let more = replies < REPLIES;
        replies += slice.completed;
        more
    });
    let count = share.max(ROUNDS).max(enough.count()).min(own.len());
    own.truncate(count);
    own.into_iter().map(|(_, slice)| slice).collect()
}

/// Mean logarithm of the speed of the other targets in a round, by their CPU time a request or else by their rate.
fn speed(slices: &[Slice], target: &str, round: u32) -> f64 {
    let others = slices.iter().filter(|slice| slice.round == round && slice.target != target);
    let speeds = others.filter_map(|slice| match slice.cpu_us_per_request() {
        Some(cost) if cost > 0.0 => Some(-cost.ln()),
        _ => Some(slice.rate().ln()).filter(|speed| speed.is_finite()),
    });
    let (sum, count) = speeds.fold((0.0, 0), |(sum, count), speed| (sum + speed, count + 1));
    if count == 0 { 0.0 } else { sum / f64::from(count) }
}

/// The result of these slices of one target. `server` has what is not measured by slices, such as memory; its CPU figures
/// are replaced. `load` is what was asked for.
pub fn result(slices: &[&Slice], load: Load, server: Server, generator_cores: &[usize]) -> Result<RunResult, String> {
    let sum = |of: fn(&Slice) -> u64| slices.iter().map(|slice| of(slice)).sum::<u64>();
    let sum_us = |of: fn(&Slice) -> f64| slices.iter().map(|slice| of(slice)).sum::<f64>();
    let (window_s, busy_us) = (sum(|slice| slice.window_us) as f64 / 1e6, sum(|slice| slice.busy_us).max(1) as f64);
    let (completed, replies) = (sum(|slice| slice.completed), sum(|slice| slice.replies));
    let percent = |us: f64| us / busy_us * 100.0;
    let mut result = RunResult::new("brunt");
    let closed = load.mode == "closed";
    result.load = Load { measured_s: window_s, ..load };
    result.requests = Requests {
        completed,
        failed: sum(|slice| slice.failed),
        unanswered: sum(|slice| slice.unanswered),
        abandoned: sum(|slice| slice.abandoned),
        rate: if window_s > 0.0 { completed as f64 / window_s } else { 0.0 },
        offered_rate: None,
        due: None,
        left_us: None,
        waited: slices.iter().map(|slice| slice.waited).sum(),
    };
    result.sends = sends(slices).sends();
    result.latency = latency(slices, closed)?;
    slices.iter().for_each(|slice| result.errors.add(&slice.errors));
    result.bytes = Bytes::of(sum(|slice| slice.sent_bytes), sum(|slice| slice.received_bytes));
    result.responses = responses(slices);
    result.generator = Generator {
        cpu_percent: Some(percent(sum_us(|slice| slice.generator_cpu_us))),
        thread_cpu_percent: vec![sum_us(|slice| slice.generator_percent) / slices.len().max(1) as f64],
        cores: generator_cores.to_vec(),
        run_queue_wait_percent: Some(percent(sum_us(|slice| slice.lost_us + slice.waited_us))),
        ..Generator::default()
    };
    let cpu: Option<f64> = slices.iter().map(|slice| slice.server_cpu_us).sum();
    let all = cpu.map(percent);
    let user =
        server.cpu_user_percent.zip(server.cpu_percent()).map(|(user, all)| if all > 0.0 { user / all } else { 1.0 });
    result.server = Server {
        cpu_user_percent: all.zip(user).map(|(all, user)| all * user),
        cpu_system_percent: all.zip(user).map(|(all, user)| all * (1.0 - user)),
        cpu_us_per_request: cpu.filter(|_| replies > 0).map(|cpu| cpu / replies as f64),
        rss_bytes: slices.iter().filter_map(|slice| slice.rss_bytes).max().or(server.rss_bytes),
        // Slices have the CPU time of the whole service.
        upstreams: Vec::new(),
        ..server
    };
    Ok(result)
}

fn sends(slices: &[&Slice]) -> SendCounts {
    let mut all = SendCounts::default();
    slices.iter().filter_map(|slice| slice.sends.as_ref()).for_each(|sends| all.add(sends));
    all
}

fn latency(slices: &[&Slice], closed: bool) -> Result<Latency, String> {
    if slices.iter().all(|slice| !slice.has_distribution()) {
        return Ok(told(slices, closed));
    }
    let merged = |of: fn(&Slice) -> Option<&String>| -> Result<Histogram<u64>, String> {
        let mut all = new_histogram();
        for text in slices.iter().filter_map(|slice| of(slice)) {
            Counts::decode(text)?.add_to(&mut all)?;
        }
        Ok(all)
    };
    let response = merged(|slice| Some(&slice.response))?;
    let censored = merged(|slice| slice.censored.as_ref())?;
    let mut lag = merged(|slice| slice.lag.as_ref())?;
    let mut service = merged(|slice| slice.service.as_ref())?;
    if closed {
        lag.saturating_record_n(0, response.len());
        service = response.clone();
    }
    Ok(Latency {
        response: LatencySummary::censored(&[], &response, Some(&censored)),
        service: LatencySummary::of(&service),
        first_byte: None,
        lag: LatencySummary::of(&lag),
        error: LatencySummary::default(),
    })
}

/// Times of a tester that reports no distribution.
fn told(slices: &[&Slice], closed: bool) -> Latency {
    let response = typical(&slices.iter().map(|slice| &slice.latency).collect::<Vec<_>>());
    let service: Vec<&LatencySummary> = slices.iter().filter_map(|slice| slice.service_latency.as_ref()).collect();
    let service = if closed { response.clone() } else { typical(&service) };
    Latency { response, service, ..Latency::default() }
}

/// The mean over all replies, the median of each percentile, the largest maximum.
fn typical(slices: &[&LatencySummary]) -> LatencySummary {
    let middle = |of: fn(&LatencySummary) -> Option<f64>| {
        let known: Vec<Option<f64>> = slices.iter().map(|times| of(times)).filter(Option::is_some).collect();
        median(known)
    };
    let weighted = slices.iter().map(|times| Some(times.mean_us? * times.count as f64)).sum::<Option<f64>>();
    let count: u64 = slices.iter().map(|times| times.count).sum();
    LatencySummary {
        count,
        mean_us: weighted.filter(|_| count > 0).map(|sum| sum / count as f64),
        p50_us: middle(|times| times.p50_us),
        p90_us: middle(|times| times.p90_us),
        p95_us: middle(|times| times.p95_us),
        p99_us: middle(|times| times.p99_us),
        p999_us: middle(|times| times.p999_us),
        max_us: slices.iter().filter_map(|times| times.max_us).reduce(f64::max),
        ..LatencySummary::default()
    }
}

fn responses(slices: &[&Slice]) -> Option<Responses> {
    let mut statuses: BTreeMap<String, u64> = BTreeMap::new();
    for (status, count) in slices.iter().flat_map(|slice| &slice.statuses) {
        *statuses.entry(status.to_string()).or_default() += count;
    }
    let body_bytes: Option<u64> = slices.iter().map(|slice| slice.body_bytes).sum();
    // External testers speak HTTP, whatever they report of it.
    let is_http = !statuses.is_empty() || slices.iter().all(|slice| !slice.has_distribution());
    is_http.then_some(Responses::of(statuses, body_bytes))
}
