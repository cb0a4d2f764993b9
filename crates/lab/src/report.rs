//! The report of a run: tables, charts, notes on validity and circumstances.
//!
//! A pure function of the run directory, so it can be rendered at any time and on any machine.

mod alarms;
mod answers;
mod charts;
pub(crate) mod colocation;
mod compared;
mod differences;
mod html;
mod knee_point;
mod live;
mod markdown;
mod multi_run;
mod notes;
mod p99_interval;
mod parts;
mod percentiles;
mod published;
mod row;
mod svg;
mod tables;
mod terminal;
pub(crate) mod timeline;

use crate::compare::{Group, MARGIN, by_trials};
use crate::format::plural;
use crate::group::distinct;
use crate::plan::{Style, slicing::Slicing};
use crate::run_directory::{Experiment, RunDirectory, TrialOutcome};
use crate::schedule::{Cell, SkippedCell};
use brunt_results::env::Env;
use brunt_results::figure::{COST, RATE};
use brunt_slices::{LoadComparison, Settings};
use compared::Compared;
use differences::Differences;
use std::io;
use std::path::{Path, PathBuf};

use timeline::Timeline;

pub use charts::{Chart, charts};
pub(crate) use charts::{CostChart, CostCurve, CostMark, Knee};
pub use colocation::Colocation;
pub(crate) use html::document;
pub use html::{page, page_of_comparison, page_of_load_comparison, page_of_runs, page_scripts};
pub(crate) use knee_point::{KneePoint, Mark};
pub use live::LivePage;
pub use markdown::markdown;
pub use multi_run::{Run, relative_path, run_names};
pub(crate) use notes::machine;
pub use published::Published;
pub use row::{Figures, Row};
pub use terminal::{Width, text, width};

#[derive(Debug, Clone)]
pub struct Report {
    pub experiment: Experiment,
    /// One per cell with a trial, sorted by load; the targets of one load are adjacent.
    pub rows: Vec<Row>,
    /// Of a sliced experiment, one per load.
    pub comparisons: Vec<LoadComparison>,
    /// Of an experiment by trials, one per load in which repeats tell a target from the baseline.
    pub by_trials: Vec<LoadComparison>,
    /// The rounds of each comparison.
    pub differences: Vec<Differences>,
    /// Scheduled trials with neither a result nor a failure.
    pub not_run: usize,
    pub skipped: Vec<SkippedCell>,
    pub envs: Vec<Env>,
    /// Of one trial with best-effort jobs, where a controller's audit log has it.
    pub timeline: Option<Timeline>,
    /// Figures of others that charts show beside the run's; the caller sets them.
    pub published: Vec<Published>,
}

pub fn read(dir: &Path) -> io::Result<Report> {
    read_from(&RunDirectory::at(dir))
}

pub fn read_from(store: &RunDirectory) -> io::Result<Report> {
    let experiment = store.experiment()?.ok_or_else(|| {
        let message = format!("{} holds no run: there is no experiment.json", store.path().display());
        io::Error::new(io::ErrorKind::NotFound, message)
    })?;
    let (mut rows, mut envs, mut groups) = (Vec::new(), Vec::new(), Vec::new());
    for (cell, trials) in store.recorded_trials(&experiment) {
        let own: Vec<Env> = trials.iter().filter_map(|(repeat, _)| store.env(cell.id(), *repeat)).collect();
        if !trials.is_empty() {
            groups.push(group(cell, &trials));
            let beside = Colocation::new(&trials, |repeat| store.colocated(cell.id(), repeat));
            let mut row = Row::new(cell.clone(), trials);
            row.colocated = beside;
            row.figures.p99_interval = p99_interval::p99_interval(&row, store);
            let idle = own.iter().filter_map(|env| env.idle.clone());
            row.figures.idle = idle.max_by(|a, b| a.cpu_percent.total_cmp(&b.cpu_percent));
            rows.push(row);
        }
        envs.extend(own);
    }
    row::sort(&mut rows);
    if let Some(baseline) = &experiment.baseline {
        row::compare_to_baseline(&mut rows, baseline);
    }
    let (comparisons, differences) = compare(store, &experiment)?;
    let by_trials = match &experiment.baseline {
        Some(baseline) if comparisons.is_empty() => by_trials(&groups, baseline, MARGIN),
        _ => Vec::new(),
    };
    for row in &mut rows {
        row.compared = compared_with(&comparisons, &row.cell);
    }
    let is_kept = |trial: &&String| {
        let (cell, repeat) = trial.rsplit_once('/')?;
        store.outcome(cell, repeat.parse().ok()?)
    };
    let not_run = experiment.order.iter().filter(|trial| is_kept(trial).is_none()).count();
    let skipped = experiment.cells.skipped.clone();
    let timeline = timeline::read(&rows, store);
    Ok(Report {
        experiment,
        rows,
        comparisons,
        by_trials,
        differences,
        not_run,
        skipped,
        envs,
        timeline,
        published: Vec::new(),
    })
}

/// The results of a cell.
fn group(cell: &Cell, trials: &[(u32, TrialOutcome)]) -> Group {
    let done = trials.iter().filter_map(|(repeat, outcome)| match outcome {
        TrialOutcome::Done(result) => Some((*repeat, (**result).clone())),
        TrialOutcome::Failed(_) => None,
    });
    let (repeats, results) = done.unzip();
    let (target, combination) = (cell.target.clone(), cell.combination().to_owned());
    Group { id: cell.id().to_owned(), target, combination, results, repeats }
}

/// Compares the targets of each load that has slices.
fn compare(store: &RunDirectory, experiment: &Experiment) -> io::Result<(Vec<LoadComparison>, Vec<Differences>)> {
    let cells = &experiment.cells.run;
    let loads = store.sliced_loads(experiment)?;
    let targets: Vec<String> = distinct(cells.iter().map(|cell| &cell.target)).into_iter().cloned().collect();
    let Some(baseline) = experiment.baseline.as_ref().or(targets.first()) else { return Ok(Default::default()) };
    let default = Slicing::default();
    let margin = experiment.margin.unwrap_or(default.margin);
    let settings = Settings { margin, precision: experiment.precision.unwrap_or(margin / 2.0) };
    let differences = loads.iter().map(|load| Differences::of(load, &targets, baseline)).collect();
    Ok((brunt_slices::compare(&loads, &targets, baseline, settings), differences))
}

fn compared_with(comparisons: &[LoadComparison], cell: &Cell) -> Option<Compared> {
    let load = comparisons.iter().find(|load| load.load == cell.combination())?;
    Some(Compared::new(load, load.targets.iter().find(|target| target.target == cell.target)?))
}

/// Writes charts, HTML page and Markdown into the run directory. Returns the path of `report.md`.
pub fn write(report: &Report, store: &RunDirectory) -> io::Result<PathBuf> {
    let drawn: io::Result<Vec<_>> = charts(report).into_iter().map(|chart| Ok((chart.svg()?, chart.file))).collect();
    store.write_charts(&drawn?)?;
    store.write_page(&page(report, store, false)?)?;
    let style = if report.is_colocated() { Style::Interference } else { Style::Plain };
    store.write_report(&markdown(report, style))
}

impl Report {
    /// Whether jobs ran beside targets.
    pub fn is_colocated(&self) -> bool {
        self.rows.iter().any(|row| row.colocated.is_some())
    }

    pub fn style(&self) -> Style {
        self.experiment.style.unwrap_or_default()
    }

    /// The comparisons that are told in sentences.
    pub fn answered(&self) -> &[LoadComparison] {
        if self.comparisons.is_empty() { &self.by_trials } else { &self.comparisons }
    }

    fn index_of(&self, row: &Row) -> usize {
        self.rows.iter().position(|own| std::ptr::eq(own, row)).expect("the row is one of this report")
    }

    pub fn failed(&self) -> usize {
        self.rows.iter().map(|row| row.failures.len()).sum()
    }

    /// Names the trials in which most requests failed, if there are any.
    pub fn failing(&self) -> Option<String> {
        let failing = || self.rows.iter().flat_map(|row| row.failing.iter().map(move |trial| (row, trial)));
        let (row, (repeat, how)) = failing().next()?;
        let trials = plural(failing().count(), "trial");
        Some(format!("most requests failed in {trials}, such as {} repeat {repeat}: {how}", row.cell.id()))
    }

    /// Whether the question of the run has an answer: by slices, that every ratio of rate and cost to the baseline is known;
    /// by trials, that most results of each cell are valid.
    pub fn is_trusted(&self) -> bool {
        if self.comparisons.is_empty() {
            return !self.rows.iter().any(Row::is_untrusted);
        }
        let ratios = self.comparisons.iter().flat_map(|load| &load.targets).flat_map(|target| &target.ratios);
        let mut asked = ratios.filter(|ratio| [&RATE, &COST].contains(&ratio.figure));
        asked.all(|ratio| ratio.verdict.is_answer())
    }
}
