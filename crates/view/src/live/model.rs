//! What is known of a load from its files. Has no clock and reads no file.

use super::points::Points;
use brunt_results::agents::{self, AgentNow};
use brunt_results::provisional::Provisional;
use brunt_results::series::{Line, Second};
use brunt_results::verdict::{ValidityIssue, Verdict};
use brunt_results::{RunResult, drift, judge, start::LoadStart};
use std::borrow::Cow;

/// Shortest time from line to line.
const LEAST_S: f64 = 1e-6;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// There is no line yet.
    Connecting,
    WarmUp,
    Window,
    Ended,
}

/// No line for a while.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Silence {
    pub seconds: u64,
    /// Whether the load still runs, where known.
    pub is_running: Option<bool>,
}

#[derive(Debug, Default)]
pub struct Model {
    /// What is shown, if the directory holds several loads.
    pub(super) name: Option<String>,
    pub(super) start: Option<LoadStart>,
    pub(super) points: Points,
    pub(super) last: Option<Line>,
    /// End of the line before the last.
    pub(super) before_s: f64,
    /// Failures in the lines before the last.
    pub(super) failed_before: u64,
    /// The window until now, and when it began.
    pub(super) window: Provisional,
    pub(super) window_from_s: f64,
    pub(super) result: Option<Box<RunResult>>,
    pub(super) silence: Option<Silence>,
    /// Those that make the load, if it is not this machine.
    pub(crate) agents: Vec<AgentNow>,
    /// A stop was asked for.
    pub(super) is_stopping: bool,
}

impl Model {
    pub fn begin(&mut self, start: LoadStart) {
        *self = Self { name: self.name.take(), start: Some(start), ..Self::default() };
    }

    /// Forgets the lines, which are no longer in the file.
    pub(super) fn clear(&mut self) {
        let agents = std::mem::take(&mut self.agents);
        *self = Self { name: self.name.take(), start: self.start.take(), agents, ..Self::default() };
    }

    pub(super) fn end(&mut self, result: RunResult) {
        self.agents = result.fleet.as_ref().map_or_else(Vec::new, agents::of);
        self.result = Some(Box::new(result));
    }

    /// Takes a line of `series.jsonl`; returns whether it is a second of the load.
    pub(super) fn line(&mut self, text: &[u8]) -> bool {
        let line = Line::parse(text);
        line.is_some_and(|line| self.push(line))
    }

    /// Ignores what is not later than the lines before.
    pub fn push(&mut self, mut line: Line) -> bool {
        let from_s = self.points.end_s();
        if line.at_s - from_s < LEAST_S {
            return false;
        }
        self.before_s = from_s;
        let failed = self.last.as_ref().and_then(|last| last.failed);
        self.failed_before = self.failed_before.saturating_add(failed.unwrap_or(0));
        self.points.push(&line);
        if self.window.length_s() == 0.0 {
            self.window_from_s = from_s;
        }
        self.window.add(&line, line.at_s - from_s);
        line.so_far = None;
        self.last = Some(line);
        true
    }

    pub fn last(&self) -> Option<&Line> {
        self.last.as_ref()
    }

    /// Time and failures until the last line begins.
    pub fn before(&self) -> (f64, u64) {
        (self.before_s, self.failed_before)
    }

    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    pub fn is_ended(&self) -> bool {
        self.result.is_some()
    }

    pub(super) fn phase(&self) -> Phase {
        match &self.last {
            _ if self.result.is_some() => Phase::Ended,
            None => Phase::Connecting,
            Some(last) if last.warmup => Phase::WarmUp,
            Some(_) => Phase::Window,
        }
    }

    /// Whether a number of requests ends the load.
    pub fn is_counted(&self) -> bool {
        self.start.as_ref().is_some_and(|start| start.requests.is_some())
    }

    /// When the window ends, in seconds since the load began, if a time ends it.
    pub fn end_s(&self) -> Option<f64> {
        let start = self.start.as_ref().filter(|_| !self.is_counted())?;
        match (start.steady, self.phase()) {
            (true, Phase::Connecting | Phase::WarmUp) => None,
            (true, _) => Some(self.window_from_s + start.duration_s),
            (false, _) => Some(start.warmup_s + start.duration_s),
        }
    }

    /// The result, or what it would be if the load ended now.
    pub fn result(&self) -> Cow<'_, RunResult> {
        self.result.as_deref().map_or_else(|| Cow::Owned(self.window.result()), Cow::Borrowed)
    }

    /// That of the result, or the one on what is known so far, if anything is.
    pub fn verdict(&self) -> Option<Verdict> {
        if let Some(result) = &self.result {
            return Some(result.verdict.clone());
        }
        if !self.window.is_judged() {
            return None;
        }
        let issues = judge::issues(&self.window.result(), self.window.steal_percent()).into_iter();
        let drift = drift::check(&self.seconds());
        Some(Verdict::of(issues.filter(|issue| self.is_known(issue)).chain(drift).collect()))
    }

    /// Too few requests are an issue only if they are not going to be enough, and if the user did not set their number.
    fn is_known(&self, issue: &ValidityIssue) -> bool {
        let ValidityIssue::TooFewSamples { count, needed, .. } = *issue else { return true };
        let Some(start) = self.start.as_ref().filter(|start| start.requests.is_none()) else { return false };
        let share = start.duration_s / self.window.length_s().max(1e-3);
        ((count as f64 * share.max(1.0)) as u64) < needed
    }

    /// The lines, as far as their drift can be judged: none at a rate that changes, and in a load of hours.
    fn seconds(&self) -> Vec<Second> {
        let is_constant = self.start.as_ref().is_some_and(|start| !start.rate_changes);
        if !is_constant || !self.points.are_seconds() {
            return Vec::new();
        }
        let second = |point: &super::points::Point| Second {
            at_s: point.to_s,
            warmup: point.warmup,
            completed: point.completed.unwrap_or(0),
            p50_us: point.p50_us,
            ..Second::default()
        };
        self.points.all().iter().map(second).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use brunt_results::series::SoFar;
    use brunt_results::verdict::Kind;

    /// Seconds of a closed loop, the first a warm-up, with so many replies each.
    fn loaded(seconds: u64, replies: u64, change: impl Fn(&mut Line, &mut SoFar)) -> Model {
        let mut model = Model::default();
        model.begin(LoadStart { warmup_s: 1.0, duration_s: 9.0, ..LoadStart::default() });
        for at in 1..=seconds {
            let mut line = Line { at_s: at as f64, warmup: at == 1, completed: Some(replies), ..Line::default() };
            let mut so_far = SoFar::default();
            so_far.response.count = (at - 1) * replies;
            (so_far.response.p99_us, so_far.lag_p99_us) = (Some(1000.0), Some(3.0));
            line.p50_us = Some(500.0);
            change(&mut line, &mut so_far);
            assert!(model.push(Line { so_far: Some(Box::new(so_far)), ..line }));
        }
        model
    }

    fn kinds(model: &Model) -> Vec<Kind> {
        model.verdict().unwrap().kinds
    }

    #[test]
    fn too_few_requests_are_an_issue_if_no_time_is_left_for_more() {
        assert_eq!(kinds(&loaded(3, 400, |_, _| ())), []);
        assert_eq!(kinds(&loaded(3, 100, |_, _| ())), [Kind::TooFewSamples]);
        assert_eq!(loaded(1, 100, |_, _| ()).verdict(), None);
        let mut counted = loaded(3, 100, |_, _| ());
        counted.start.as_mut().unwrap().requests = Some(250);
        assert_eq!(kinds(&counted), [], "the user set their number");
    }

    #[test]
    fn each_issue_is_that_of_its_figure() {
        let steal = loaded(4, 1000, |line, _| line.host_steal_percent = Some(9.0));
        assert_eq!(kinds(&steal), [Kind::Disturbed]);
        assert_eq!(kinds(&loaded(4, 1000, |_, so_far| so_far.lag_p99_us = Some(900.0))), [Kind::ClientLimited]);
        let missed = loaded(4, 1000, |line, _| line.offered = Some(1500));
        assert_eq!(kinds(&missed), [Kind::RateMissed]);
        // Failures to connect are known before the window.
        assert_eq!(kinds(&loaded(1, 0, |_, so_far| so_far.errors.connect = 2)), [Kind::Errors]);
        let drifting = |line: &mut Line, _: &mut SoFar| line.completed = Some(1000 + 300 * line.at_s as u64);
        assert_eq!(kinds(&loaded(10, 1000, drifting)), [Kind::NotStationary]);
        for (server, expected) in [(30.0, vec![Kind::ClientLimited]), (140.0, vec![])] {
            let busy = loaded(4, 1000, |line, so_far| {
                so_far.busiest_thread_percent = Some(99.0);
                (line.server_cpu_user_percent, line.server_cpu_system_percent) = (Some(0.0), Some(server));
            });
            assert_eq!(kinds(&busy), expected, "{server}");
        }
    }

    #[test]
    fn time_left_is_known_if_a_time_ends_the_load() {
        assert_eq!(loaded(2, 1, |_, _| ()).end_s(), Some(10.0));
        let mut model = Model::default();
        model.begin(LoadStart { steady: true, warmup_s: 60.0, duration_s: 9.0, ..LoadStart::default() });
        model.push(Line { at_s: 14.0, warmup: true, ..Line::default() });
        assert_eq!(model.end_s(), None);
        model.push(Line { at_s: 15.0, ..Line::default() });
        assert_eq!(model.end_s(), Some(23.0));
        model.begin(LoadStart { requests: Some(5), ..LoadStart::default() });
        assert_eq!(model.end_s(), None);
    }
}
