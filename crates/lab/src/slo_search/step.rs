//! One step of a search: a load process and the evaluation of its result.

use super::source::PlannedLoad;
use super::{Attempt, LoadSource, Request, SloOutcome};
use crate::Error;
use crate::group::distinct;
use crate::system::poll::{every, poll};
use crate::system::process_group::{Launch, ProcessGroup, describe_exit, last_lines};
use crate::system::process_registry::ProcessRegistry;
use brunt_results::directory::Directory;
use brunt_results::verdict::{Kind, ValidityIssue};
use brunt_results::{Rate, RunResult, Slo, Span, judge};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::{fs::File, sync::Arc, time::Duration};

#[derive(Debug)]
pub struct LoadStep<'a> {
    pub request: &'a Request,
    /// Counted from 1.
    pub number: usize,
    pub next: Attempt,
    pub dir: PathBuf,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Step {
    pub dir: PathBuf,
    pub rate: f64,
    /// Whether it was a confirmation.
    pub confirms: bool,
    pub answered: f64,
    pub p50_us: Option<f64>,
    pub p99_us: Option<f64>,
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

/// Time beyond the window for connecting, warm-up, draining and writing, after which a load counts as hung.
const GRACE: Duration = Duration::from_secs(120);

impl LoadStep<'_> {
    /// Runs the load; `None` if it was interrupted.
    pub fn run(&self, ledger: &Arc<ProcessRegistry>, stop: &AtomicBool) -> Result<Option<Step>, Error> {
        let result = match &self.request.source {
            LoadSource::Url { brunt, url, flags } => self.run_load(brunt, self.args(url, flags), ledger, stop)?,
            LoadSource::Planned(planned) => {
                let (number, rate, dir) = (self.number, self.next.rate, self.dir.as_path());
                let load = PlannedLoad { number, rate, window: self.window(), seed: self.seed(), dir };
                let failed = |error: Error| Error::Failed(format!("{}: {error}", self.name()));
                planned.load(&load, ledger, stop).map_err(failed)?
            }
        };
        let Some(mut result) = result.filter(|result| !result.interrupted) else { return Ok(None) };
        if let Some(how) = all_failed(&result) {
            let (name, place) = (self.name(), self.dir.display());
            return Err(Error::Failed(format!(
                "every request of {name} failed ({how}), so no other rate is tried: {place}"
            )));
        }
        if self.request.source.starts_at_send() {
            result.latency.response = result.latency.service.clone();
        }
        let external = self.request.source.tester();
        if let Some((tester, missing)) = external.zip(self.request.slo.unrecorded(&result)) {
            let name = tester.name;
            return Err(Error::Failed(format!(
                "{name} did not report the figure of {missing}: use another, or tester brunt"
            )));
        }
        Ok(Some(self.step(&result)))
    }

    /// Runs `brunt load`.
    fn run_load(
        &self,
        brunt: &Path,
        args: Vec<String>,
        ledger: &Arc<ProcessRegistry>,
        stop: &AtomicBool,
    ) -> Result<Option<RunResult>, Error> {
        let directory = Directory::create(&self.dir)?;
        let log = self.dir.join("load.log");
        let (stdout, stderr) = (File::create(self.dir.join("load.txt"))?, File::create(&log)?);
        let launch = Launch::new(brunt.to_owned(), args, stdout, stderr);
        let mut load = ProcessGroup::start(launch, ledger)?;
        let limit = self.window() * 2 + GRACE;
        let ended = poll(limit, every(20), || match load.ended() {
            None if stop.load(Ordering::Relaxed) => Some(None),
            status => status.map(Some),
        });
        let status = match ended {
            Some(Some(status)) => status,
            Some(None) => return Ok(None),
            None => return Err(Error::Failed(format!("{} did not end within {} s", self.name(), limit.as_secs()))),
        };
        let lines = last_lines(&log, 20);
        let said = lines.iter().find_map(|line| line.strip_prefix("error: ")).unwrap_or("it did not say why");
        match status.code() {
            Some(0) => {}
            Some(2) => return Err(Error::Usage(format!("brunt load: {said}"))),
            _ => return Err(Error::Failed(format!("{} {}: {said}", self.name(), describe_exit(status)))),
        }
        Ok(Some(directory.read_result()?))
    }

    fn name(&self) -> String {
        format!("the load of {} requests/s", Rate(self.next.rate))
    }

    fn seed(&self) -> u64 {
        self.request.seed.wrapping_add(self.number as u64 - 1)
    }

    fn args(&self, url: &str, flags: &[String]) -> Vec<String> {
        let window = Span(self.window()).to_string();
        let seed = self.seed().to_string();
        let own = ["-R", &Rate(self.next.rate).to_string(), "-d", &window, "--seed", &seed];
        let last = ["--out", &self.dir.display().to_string(), "--quiet", "--accept-any-result"];
        let words = ["load".to_owned(), url.to_owned()].into_iter().chain(flags.iter().cloned());
        words.chain(own.iter().chain(&last).map(|word| (*word).to_owned())).collect()
    }

    /// The window, extended to the requests that the SLO's percentiles need.
    fn window(&self) -> Duration {
        let asked = if self.next.confirms { self.request.confirm } else { self.request.step };
        let needed = self.request.slo.min_requests() as f64 / self.next.rate * 1.1;
        // Whole milliseconds, for a readable command line.
        asked.0.max(Duration::from_millis((needed * 1e3).ceil() as u64))
    }

    fn step(&self, result: &RunResult) -> Step {
        let Evaluation { outcome, broken, remedy } = evaluate(result, &self.request.slo);
        let (failed, completed) = (result.failures() as f64, result.requests.completed as f64);
        Step {
            dir: self.dir.clone(),
            rate: self.next.rate,
            confirms: self.next.confirms,
            answered: result.requests.rate,
            p50_us: result.latency.response.p50_us,
            p99_us: result.latency.response.p99_us,
            errors: if failed > 0.0 { failed / (failed + completed) } else { 0.0 },
            verdict: result.verdict.kind,
            broken,
            remedy,
            outcome,
        }
    }
}

/// How the requests failed, if all of them did.
fn all_failed(result: &RunResult) -> Option<String> {
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
    let remedy = distinct(causes.iter().map(|cause| cause.remedy().to_owned()));
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
        late.latency.lag.p99_us = Some(500.0);
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
