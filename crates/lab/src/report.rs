//! The report of a run: a table with a row for each cell, and all that a reader must know to believe it. A pure
//! function of the run's directory, so it can be rendered again at any time and anywhere.

mod baseline;
mod charts;
mod html;
mod http;
mod interval;
mod live;
mod markdown;
mod multi_run;
mod notes;
mod row;
mod svg;
mod tables;
mod terminal;

use crate::plan::Style;
use crate::{
    run_directory::{Experiment, RunDirectory},
    schedule::SkippedCell,
};
use brunt_results::env::Env;
use std::{
    io,
    path::{Path, PathBuf},
};

pub use charts::{Chart, charts};
pub use html::{page, page_of_runs};
pub use http::Figures as HttpFigures;
pub use live::LivePage;
pub use markdown::markdown;
pub use multi_run::{Run, relative_path, run_names};
pub use row::{Figures, Row};
pub use terminal::text;

/// Everything that the directory of a run tells.
#[derive(Debug, Clone)]
pub struct Report {
    /// What was planned.
    pub experiment: Experiment,
    /// One for each cell with a trial, sorted by load, the targets of one load together.
    pub rows: Vec<Row>,
    /// Trials wanted that have neither a result nor a reason why not.
    pub not_run: usize,
    /// Disturbed trials that were run again; the attempts are kept, and do not count.
    pub repeated: usize,
    /// Cells that could not be run here.
    pub skipped: Vec<SkippedCell>,
    /// The circumstances of the trials that tell them.
    pub envs: Vec<Env>,
}

/// Reads the directory of a run; an error if there is none.
pub fn read(dir: &Path) -> io::Result<Report> {
    let store = RunDirectory::at(dir);
    let experiment = store.experiment()?.ok_or_else(|| {
        let message = format!("{} holds no run: there is no experiment.json", dir.display());
        io::Error::new(io::ErrorKind::NotFound, message)
    })?;
    let (mut rows, mut envs, mut repeated) = (Vec::new(), Vec::new(), 0);
    for (cell, trials) in store.recorded_trials(&experiment) {
        repeated +=
            trials.iter().map(|(repeat, _)| store.archived_attempts(cell.id(), *repeat) as usize).sum::<usize>();
        envs.extend(trials.iter().filter_map(|(repeat, _)| store.env(cell.id(), *repeat)));
        if !trials.is_empty() {
            let mut row = Row::new(cell.clone(), trials);
            row.figures.p99_interval = interval::p99(&row, &store);
            rows.push(row);
        }
    }
    row::sort(&mut rows);
    if let Some(baseline) = &experiment.baseline {
        baseline::compare(&mut rows, baseline);
    }
    let is_kept = |trial: &&String| {
        let (cell, repeat) = trial.rsplit_once('/')?;
        store.outcome(cell, repeat.parse().ok()?)
    };
    let not_run = experiment.order.iter().filter(|trial| is_kept(trial).is_none()).count();
    let skipped = experiment.cells.skipped.clone();
    Ok(Report { experiment, rows, not_run, repeated, skipped, envs })
}

/// The report of a run as Markdown.
pub fn render(dir: &Path) -> io::Result<String> {
    Ok(markdown(&read(dir)?, Style::Plain))
}

/// Draws the charts and writes them, the page and the report into the directory of the run; returns the report's place.
pub fn write(report: &Report, store: &RunDirectory) -> io::Result<PathBuf> {
    let drawn: io::Result<Vec<_>> = charts(report).into_iter().map(|chart| Ok((chart.svg()?, chart.file))).collect();
    store.write_charts(&drawn?)?;
    store.write_page(&page(report, store, false)?)?;
    store.write_report(&markdown(report, Style::Plain))
}

impl Report {
    /// The layout that its plan asks for.
    pub fn style(&self) -> Style {
        self.experiment.style.unwrap_or_default()
    }

    /// Where one of its rows stands among them.
    fn index_of(&self, row: &Row) -> usize {
        self.rows.iter().position(|own| std::ptr::eq(own, row)).expect("the row is one of this report")
    }

    /// Trials that failed.
    pub fn failed(&self) -> usize {
        self.rows.iter().map(|row| row.failures.len()).sum()
    }

    /// Cells of which fewer than half of the trials may be believed.
    pub fn untrusted(&self) -> usize {
        self.rows.iter().filter(|row| row.is_untrusted()).count()
    }
}
