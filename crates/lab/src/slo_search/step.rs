//! One row of a search: the samples of one rate, or one run of a tester, and their evaluation.

use super::Request;
use super::evidence::Standing;
use super::search::Search;
use crate::group::distinct;
use brunt_results::verdict::{Kind, ValidityIssue};
use brunt_results::{RunResult, Slo, judge};
use serde::Serialize;
use std::path::PathBuf;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SloOutcome {
    Holds,
    Breaks,
    /// The SLO is violated, possibly because of the load generator.
    GeneratorLimited,
    /// The samples do not say.
    Unclear,
}

impl SloOutcome {
    pub fn holds(self) -> bool {
        self == Self::Holds
    }
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Step {
    pub dir: PathBuf,
    pub rate: f64,
    /// Whether it was measured as long as a result needs.
    pub confirms: bool,
    /// Slices at the rate; absent for a whole run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slices: Option<usize>,
    /// Length of the measured windows together.
    pub measured_s: f64,
    pub answered: f64,
    pub p50_us: Option<f64>,
    pub p99_us: Option<f64>,
    /// The figure of the SLO's first bound on a time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slo_us: Option<f64>,
    /// Failed requests as a share, 0 to 1.
    pub errors: f64,
    pub verdict: Kind,
    /// Violated conditions, and what else kept the rate from holding, one sentence each.
    pub broken: Vec<String>,
    /// What to do about what else kept the rate from holding.
    pub remedy: Vec<String>,
    #[serde(rename = "answer")]
    pub outcome: SloOutcome,
}

/// A run of a tester at one rate.
pub(super) fn of_run(request: &Request, dir: PathBuf, rate: f64, result: &RunResult) -> Step {
    step(request, dir, rate, result, evaluate(result, &request.slo))
}

/// All slices at one rate; `result` has their sums.
pub(super) fn of_rate(
    request: &Request,
    search: &Search,
    dir: PathBuf,
    rate: f64,
    slices: usize,
    result: &RunResult,
) -> Step {
    // Slices end with requests in the queue, which a longer load would send.
    let mut sent = result.clone();
    sent.requests.abandoned = 0;
    let Evaluation { outcome, mut broken, remedy } = evaluate(&sent, &request.slo);
    let outcome = match (search.standing(rate), outcome) {
        _ if search.held_in_ascent(rate) == Some(true) => SloOutcome::Holds,
        _ if search.held_in_ascent(rate) == Some(false) => SloOutcome::Breaks,
        (Some(Standing::Holds), _) => SloOutcome::Holds,
        (Some(Standing::Breaks), SloOutcome::GeneratorLimited) => SloOutcome::GeneratorLimited,
        (Some(Standing::Breaks), _) => SloOutcome::Breaks,
        (Some(Standing::Unclear) | None, _) => SloOutcome::Unclear,
    };
    match outcome {
        SloOutcome::Holds => broken.clear(),
        SloOutcome::Breaks if broken.is_empty() => {
            broken.push(format!("{:.1} % of the requests were answered in time", result.requests.rate / rate * 100.0));
        }
        _ => {}
    }
    let evaluation = Evaluation { outcome, broken, remedy };
    let confirms = search.is_confirmed(rate);
    Step { slices: Some(slices), confirms, ..step(request, dir, rate, &sent, evaluation) }
}

fn step(request: &Request, dir: PathBuf, rate: f64, result: &RunResult, evaluation: Evaluation) -> Step {
    let Evaluation { outcome, broken, remedy } = evaluation;
    let (failed, all) = (result.failures() as f64, result.attempts() as f64);
    let response = &result.latency.response;
    let bound = request.slo.conditions().iter().find(|condition| condition.is_time());
    Step {
        dir,
        rate,
        confirms: false,
        slices: None,
        measured_s: result.load.measured_s,
        answered: result.requests.rate,
        p50_us: response.p50_us,
        p99_us: response.p99_us,
        slo_us: bound.and_then(|bound| response.figure(&bound.figure).flatten()),
        errors: if failed > 0.0 { failed / all } else { 0.0 },
        verdict: result.verdict.kind,
        broken,
        remedy,
        outcome,
    }
}

/// How the requests failed, if all of them did.
pub(super) fn all_failed(result: &RunResult) -> Option<String> {
    if result.requests.completed > 0 || result.failures() == 0 {
        return None;
    }
    let statuses = result.responses.iter().flat_map(|replies| replies.statuses.keys());
    let replies: Vec<String> = statuses.map(|status| format!("HTTP status {status}")).collect();
    Some(std::iter::once(result.failure_words()).chain(replies).collect::<Vec<_>>().join(", "))
}

pub(super) struct Evaluation {
    pub(super) outcome: SloOutcome,
    pub(super) broken: Vec<String>,
    pub(super) remedy: Vec<String>,
}

/// Missing the offered rate violates the SLO too. A limited generator does not: its lag only lengthens response times. If the
/// SLO is violated, other work on the cores is named with its remedy, as is the limit of the generator.
pub(super) fn evaluate(result: &RunResult, slo: &Slo) -> Evaluation {
    let mut broken = slo.violations(result);
    broken.extend(judge::rate(result).as_ref().map(ValidityIssue::evidence));
    let (count, needed) = (result.latency.response.count, slo.min_requests());
    if count < needed {
        broken.push(format!("{slo} needs {needed} requests, {count} were recorded"));
    }
    let limited = judge::lag(result).or_else(|| judge::generator_cpu(result));
    let outcome = match (broken.is_empty(), &limited) {
        (true, _) => SloOutcome::Holds,
        (false, None) => SloOutcome::Breaks,
        (false, Some(_)) => SloOutcome::GeneratorLimited,
    };
    let disturbances = judge::disturbances(result, result.host.steal_percent);
    // Other work first: it makes a generator late.
    let causes: Vec<ValidityIssue> =
        if outcome == SloOutcome::Holds { Vec::new() } else { disturbances.chain(limited).collect() };
    broken.extend(causes.iter().map(ValidityIssue::evidence));
    let remedy = distinct(causes.iter().map(|cause| cause.remedy().into_owned()));
    Evaluation { outcome, broken, remedy }
}

#[cfg(test)]
mod tests {
    use super::*;
    use brunt_results::{LatencySummary, result::Requests};

    fn result(rate: f64, p99_us: f64) -> RunResult {
        let mut result = RunResult::new("test");
        result.load.measured_s = 3.0;
        result.requests =
            Requests { completed: 3 * rate as u64, rate, offered_rate: Some(1000.0), ..Requests::default() };
        result.latency.response = LatencySummary { count: 3000, p99_us: Some(p99_us), ..LatencySummary::default() };
        result
    }

    #[test]
    fn what_holds_what_breaks_and_whose_fault_it_is() {
        let slo: Slo = "p99<6ms".parse().unwrap();
        let of = |result: &RunResult| evaluate(result, &slo).outcome;
        assert_eq!(of(&result(1000.0, 5000.0)), SloOutcome::Holds);
        assert_eq!(of(&result(1000.0, 7000.0)), SloOutcome::Breaks);
        assert_eq!(of(&result(800.0, 5000.0)), SloOutcome::Breaks);
        let mut late = result(1000.0, 7000.0);
        late.latency.lag = LatencySummary { count: 3000, p99_us: Some(500.0), ..LatencySummary::default() };
        assert_eq!(of(&late), SloOutcome::GeneratorLimited);
        assert!(evaluate(&late, &slo).broken.iter().any(|why| why.contains("sent late")));
        late.generator.run_queue_wait_percent = Some(40.0);
        let Evaluation { broken, remedy, .. } = evaluate(&late, &slo);
        assert!(broken.iter().any(|why| why.contains("runnable without a core for 40 % of the time")), "{broken:?}");
        assert!(remedy.len() == 2 && remedy[0].contains("stop other programs"), "{remedy:?}");
        late.latency.response.p99_us = Some(5000.0);
        assert_eq!(of(&late), SloOutcome::Holds);
        assert!(evaluate(&late, &slo).broken.is_empty());
        let mut few = result(1000.0, 5000.0);
        few.latency.response.count = 999;
        assert_eq!(of(&few), SloOutcome::Breaks);
    }
}
