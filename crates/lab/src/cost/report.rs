//! The result of a measurement of cost.

use crate::format::plural;
use crate::slices::text::void;
use brunt_results::env::Env;
use brunt_results::units::share;
use brunt_results::{Rate, Span};
use brunt_slices::cost::length::{Change, SMALL};
use brunt_slices::cost::{CostAnalysis, TargetCost};
use serde::{Deserialize, Serialize};
use std::time::Duration;

const ONE_START: &str = "one start of each server was measured: the answer is about these processes; another start may differ by a percent or more";

/// The file of the result.
pub(crate) const FILE: &str = "cost.json";

/// The contents of `cost.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CostReport {
    pub targets: Vec<TargetCost>,
    /// Groups of targets that cannot be told apart, the cheapest first.
    pub groups: Vec<Vec<String>>,
    /// Rounds that count, and those that do not.
    pub rounds: usize,
    pub void: usize,
    pub length: Length,
    /// Half width of the intervals that was asked for, as a share.
    pub precision: f64,
    /// Whether all intervals are as narrow.
    pub is_precise: bool,
    /// Time of the measurement.
    pub seconds: f64,
    pub notes: Vec<String>,
    /// The machine, the command line and when it began.
    pub env: Env,
}

/// The length of all slices: lead and window.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Length {
    pub slice_ms: f64,
    /// Whether the user has set it.
    pub is_set: bool,
    /// The rate at which twice the length was tried.
    pub rate: Option<f64>,
    /// What it changed; absent where that is not known.
    pub doubled: Option<Change>,
}

impl Length {
    pub(super) fn set(slice: Duration) -> Self {
        Self { slice_ms: slice.as_secs_f64() * 1e3, is_set: true, rate: None, doubled: None }
    }

    pub(super) fn found(slice: Duration, rate: f64, doubled: Option<Change>) -> Self {
        Self { is_set: false, rate: Some(rate), doubled, ..Self::set(slice) }
    }

    pub(super) fn slice(&self) -> Duration {
        Duration::from_secs_f64(self.slice_ms / 1e3)
    }

    /// In a sentence.
    pub fn words(&self) -> String {
        let slices = format!("slices of {}", Span(self.slice()));
        let (Some(change), Some(rate)) = (&self.doubled, self.rate) else {
            let why = if self.is_set { "as --slice asks" } else { "what twice the length changes is not known" };
            return format!("{slices}: {why}");
        };
        let percent = |share: f64| format!("{:+.1}", share * 100.0);
        let doubt = match change.is_small() {
            true => String::new(),
            false => format!("; it is not certain that this is less than {}", share(SMALL)),
        };
        format!(
            "{slices}: twice as long changes CPU a request at {}/s by {} % [{} {}], in {} of each target{doubt}",
            Rate(rate),
            percent(change.share),
            percent(change.interval.low),
            percent(change.interval.high),
            plural(change.pairs, "pair")
        )
    }
}

/// What a report has beside the analysis.
pub(super) struct Context {
    pub length: Length,
    pub precision: f64,
    pub seconds: f64,
    pub notes: Vec<String>,
    pub env: Env,
}

/// `absent` are targets without a result, and why.
pub(super) fn made(analysis: CostAnalysis, absent: &[(String, String)], context: Context) -> CostReport {
    let Context { length, precision, seconds, mut notes, env } = context;
    let is_precise = analysis.is_precise(precision);
    if analysis.void > 0 {
        notes.push(void(analysis.void, analysis.rounds + analysis.void));
    }
    if !is_precise {
        notes.push(imprecise(&analysis, precision));
    }
    notes.push(ONE_START.to_owned());
    let why = |target: &TargetCost| absent.iter().find(|(name, _)| *name == target.target).map(|(_, why)| why.clone());
    let targets = analysis.targets.into_iter().map(|target| match why(&target) {
        Some(why) => TargetCost { points: Vec::new(), line: None, parts: Vec::new(), no_line: Some(why), ..target },
        None => target,
    });
    CostReport {
        targets: targets.collect(),
        groups: analysis.groups,
        rounds: analysis.rounds,
        void: analysis.void,
        length,
        precision,
        is_precise,
        seconds,
        notes,
        env,
    }
}

/// What is missing to the precision that was asked for.
fn imprecise(analysis: &CostAnalysis, precision: f64) -> String {
    let widest = analysis.precision();
    let wanted = share(precision);
    match (widest.half, analysis.needed(precision)) {
        (Some(half), Some(needed)) if half > precision => format!(
            "imprecise: the widest interval is that of the {} with ±{:.1} %, not ±{wanted}; about {} would do: -d gives more",
            widest.of,
            half * 100.0,
            plural(needed, "round")
        ),
        _ => format!("imprecise: {} are too few for ±{wanted}: -d gives more", plural(analysis.rounds, "round")),
    }
}
