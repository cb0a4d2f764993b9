//! The indexed contents of a directory. Read-only.

use crate::cost::{CostReport, REPORT};
use crate::run_directory::{Experiment, RunDirectory, TrialOutcome};
use brunt_results::verdict::{Kind as Trust, Verdict};
use brunt_results::{Error, RunResult, directory::Directory, env::Env};
use brunt_slices::cost::{Point, TargetCost};
use serde::{Deserialize, Serialize};
use std::{fs, path::Path, time::UNIX_EPOCH};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// `brunt run`.
    Run,
    /// `brunt find`.
    Find,
    /// `brunt cost`.
    Cost,
    /// `brunt load --out`.
    Load,
}

impl Kind {
    pub fn word(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Find => "find",
            Self::Cost => "cost",
            Self::Load => "load",
        }
    }

    pub(super) fn of(word: &str) -> Option<Self> {
        [Self::Run, Self::Find, Self::Cost, Self::Load].into_iter().find(|kind| kind.word() == word)
    }
}

#[derive(Debug)]
pub(super) struct Entry {
    pub(super) kind: Kind,
    pub(super) plan: String,
    pub(super) description: String,
    pub(super) plan_hash: String,
    pub(super) command: String,
    pub(super) started_unix_s: u64,
    pub(super) finished: bool,
    pub(super) stamp: i64,
    pub(super) missing: usize,
    /// Environment of the first result.
    pub(super) env: Env,
    pub(super) cells: Vec<Cell>,
}

#[derive(Debug)]
pub(super) struct Cell {
    pub(super) target: String,
    pub(super) combination: String,
    pub(super) values: Vec<(String, String)>,
    pub(super) trials: Vec<Trial>,
}

#[derive(Debug)]
pub(super) struct Trial {
    pub(super) repeat: u32,
    /// Relative to the directory of the entry; may be empty.
    pub(super) place: String,
    pub(super) started_unix_s: Option<u64>,
    pub(super) kept: TrialOutcome,
}

impl Entry {
    pub(super) fn read(dir: &Path) -> Result<Option<Self>, Error> {
        // First, so that later changes are detected.
        let stamp = stamp(dir);
        Ok(Self::read_unstamped(dir)?.map(|entry| Self { stamp, ..entry }))
    }

    fn read_unstamped(dir: &Path) -> Result<Option<Self>, Error> {
        let store = RunDirectory::at(dir);
        if let Some(experiment) = store.experiment()? {
            return Ok(Some(Self::of_run(&store, experiment)));
        }
        if dir.join("find.json").exists() || dir.join("steps/running.json").exists() {
            return Ok(Some(Self::of_search(dir)?));
        }
        let directory = Directory::open(dir);
        if dir.join(REPORT).exists() {
            return Ok(Some(Self::of_cost(directory.read_json(REPORT)?)));
        }
        if !directory.is_complete() {
            return Ok(None);
        }
        let (result, env) = (directory.read_result()?, directory.read_env().unwrap_or_default());
        let cells = vec![single(result, &env, String::new())];
        Ok(Some(Self { cells, ..Self::of(Kind::Load, env) }))
    }

    fn of(kind: Kind, env: Env) -> Self {
        Self {
            kind,
            plan: kind.word().to_owned(),
            description: String::new(),
            plan_hash: String::new(),
            command: env.command.join(" "),
            started_unix_s: env.started_unix_s,
            finished: true,
            stamp: 0,
            missing: 0,
            env,
            cells: Vec::new(),
        }
    }

    fn of_run(store: &RunDirectory, experiment: Experiment) -> Self {
        let (mut cells, mut env) = (Vec::new(), None);
        for (cell, outcomes) in store.recorded_trials(&experiment) {
            let mut trials = Vec::new();
            for (repeat, kept) in outcomes {
                env = env.or_else(|| store.env(cell.id(), repeat));
                let started_unix_s = store.record(cell.id(), repeat).map(|record| record.started_unix_s);
                trials.push(Trial { repeat, place: format!("trials/{}/{repeat}", cell.id()), started_unix_s, kept });
            }
            let names = cell.settings.names();
            cells.push(Cell {
                target: cell.target.clone(),
                combination: cell.combination().to_owned(),
                values: names.filter_map(|name| Some((name.to_owned(), cell.value(name)?))).collect(),
                trials,
            });
        }
        let wanted = experiment.order.iter().filter_map(|trial| trial.rsplit_once('/'));
        let is_missing = |(cell, repeat): &(&str, &str)| repeat.parse().map_or(true, |n| !store.is_done(cell, n));
        let missing = wanted.filter(is_missing).count();
        Self {
            plan: experiment.name,
            description: experiment.description,
            plan_hash: experiment.plan_hash,
            command: experiment.command.join(" "),
            started_unix_s: experiment.started_unix_s,
            finished: missing == 0,
            missing,
            cells,
            ..Self::of(Kind::Run, env.unwrap_or_default())
        }
    }

    /// A target at a rate is a trial.
    fn of_cost(report: CostReport) -> Self {
        let of_target =
            |target: &TargetCost| target.points.iter().map(|point| at_rate(target, point)).collect::<Vec<_>>();
        let cells = report.targets.iter().flat_map(of_target).collect();
        Self { cells, ..Self::of(Kind::Cost, report.env) }
    }

    fn of_search(dir: &Path) -> Result<Self, Error> {
        let mut names: Vec<String> = fs::read_dir(dir.join("steps"))
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(|entry| entry.file_name().into_string().ok())
            .collect();
        names.sort();
        let (mut cells, mut first) = (Vec::new(), None);
        for name in names {
            let step = Directory::open(dir.join("steps").join(&name));
            if !step.is_complete() {
                continue;
            }
            let env = step.read_env().unwrap_or_default();
            let mut cell = single(step.read_result()?, &env, format!("steps/{name}"));
            // Strips the number that orders the directories.
            cell.combination = name.split_once('-').map_or(name.as_str(), |(_, rate)| rate).to_owned();
            cells.push(cell);
            first.get_or_insert(env);
        }
        let finished = dir.join("find.json").exists();
        // The environment of a step has the command of its load.
        Ok(Self { cells, command: String::new(), finished, ..Self::of(Kind::Find, first.unwrap_or_default()) })
    }
}

/// Modification time of the main file in nanoseconds since 1970, or 0. Runs rewrite it when they start or resume.
pub(super) fn stamp(dir: &Path) -> i64 {
    let written = ["experiment.json", "find.json", REPORT, "result.json"].iter().find_map(|file| {
        let written = fs::metadata(dir.join(file)).ok()?.modified().ok()?;
        written.duration_since(UNIX_EPOCH).ok()
    });
    written.map_or(0, |since| i64::try_from(since.as_nanos()).unwrap_or(i64::MAX))
}

fn single(result: RunResult, env: &Env, place: String) -> Cell {
    let offered = result.requests.offered_rate;
    let rate = offered.map_or("max".to_owned(), |rate| brunt_results::Rate(rate).to_string());
    let connections = brunt_results::Count(result.load.connections).to_string();
    let values = [("connections", connections), ("rate", rate.clone())];
    Cell {
        target: result.load.url.clone(),
        combination: format!("rate={rate}"),
        values: values.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
        trials: vec![Trial {
            repeat: 1,
            place,
            started_unix_s: Some(env.started_unix_s),
            kept: TrialOutcome::Done(Box::new(result)),
        }],
    }
}

fn at_rate(target: &TargetCost, point: &Point) -> Cell {
    let mut result = RunResult::new("brunt");
    result.load.url = target.target.clone();
    result.requests.rate = point.answered;
    result.requests.offered_rate = Some(point.rate);
    result.requests.failed = point.failed;
    result.latency.response.p50_us = point.p50_us;
    result.latency.response.p99_us = point.p99_us.map(|p99| p99.value);
    result.server.cpu_us_per_request = point.cost_us.map(|cost| cost.value);
    if let Some(why) = &point.left_out {
        let kind = if point.failed > 0 { Trust::Errors } else { Trust::RateMissed };
        result.verdict = Verdict { kind, kinds: vec![kind], why: vec![why.clone()], remedy: Vec::new() };
    }
    let cell = single(result, &Env::default(), String::new());
    let values = cell.values.into_iter().filter(|(name, _)| name == "rate").collect();
    Cell { values, ..cell }
}
