//! The charts of a report: which there are, what they are called, and each as the text of an SVG file. Pure functions of
//! the report's rows; the same rows give the same bytes, so charts can be drawn again at any time and anywhere.

mod axis;
mod bars;
mod lines;
pub(super) mod load;
mod metric;
mod palette;
mod scale;
mod select_charts;

use super::{Report, notes, svg, tables::selections};
use select_charts::ChartSelection;
use std::{collections::BTreeSet, io};

pub(super) use {
    axis::Axis,
    bars::{Bar, Bars, Group},
    lines::{Lines, Plot, Point, Series},
    metric::Metric,
    palette::{COLOURS, SHAPES},
    scale::Scale,
    select_charts::{Body, misses},
};

/// A chart of a report.
#[derive(Debug, Clone)]
pub struct Chart {
    /// Which of the report's tables it shows.
    pub table: usize,
    /// The name of its file in [`CHARTS_FOLDER`](crate::run_directory::CHARTS_FOLDER): lower case letters, digits, `-` and `.`, and unlike that of any other chart.
    pub file: String,
    /// The rows it shows, by their places in the report; those of bars in the order of the bars.
    pub(super) rows: Vec<usize>,
    pub(super) body: Body,
    pub(super) title: String,
    /// The load, the repeats, how to read it.
    pub(super) load: String,
    /// The experiment and the load.
    pub(super) subtitle: String,
    /// The machine.
    pub(super) footer: String,
}

impl Chart {
    pub fn title(&self) -> &str {
        &self.title
    }

    /// The chart as an SVG file.
    ///
    /// # Errors
    /// It cannot be drawn.
    pub fn svg(&self) -> io::Result<String> {
        svg::svg(self)
    }
}

/// The charts of a report, those of one table together.
pub fn charts(report: &Report) -> Vec<Chart> {
    let targets = targets(report);
    let footer = footer(report);
    let mut charts: Vec<Chart> = Vec::new();
    let mut files = BTreeSet::new();
    let shown = selections(report).into_iter().filter(|table| !table.rows.is_empty());
    for (table, part) in shown.enumerate() {
        for choice in select_charts::select_charts(&part.rows, part.over, &targets) {
            let load = under(&part.rows, part.over, &choice);
            let subtitle = format!("{}: {load}", report.experiment.name);
            let title = title(&part.rows, part.over, &choice);
            let slug = slug(&title);
            let names = (1..).map(|n| if n == 1 { format!("{slug}.svg") } else { format!("{slug}-{n}.svg") });
            let file = names.into_iter().find(|name| files.insert(name.clone())).unwrap_or_default();
            let rows = choice.rows.iter().map(|row| report.index_of(row)).collect();
            let footer = footer.clone();
            charts.push(Chart { table, file, rows, body: choice.body, title, load, subtitle, footer });
        }
    }
    charts
}

/// Every target with a row, in the order of the plan, so that each looks the same in all charts.
pub(super) fn targets(report: &Report) -> Vec<String> {
    let mut targets: Vec<String> = Vec::new();
    let planned = report.experiment.cells.run.iter().filter(|c| report.rows.iter().any(|r| r.cell.target == c.target));
    for cell in planned.chain(report.rows.iter().map(|row| &row.cell)) {
        if !targets.contains(&cell.target) {
            targets.push(cell.target.clone());
        }
    }
    targets
}

/// The values that the chart itself does not tell: those that the whole table has in common, and those of its own.
fn free(table: &[&super::Row], over: Option<&str>, choice: &ChartSelection) -> (Vec<String>, Vec<String>) {
    let free = load::telling(table, None, over).into_iter().filter(|name| !choice.told.contains(name));
    free.partition(|name| load::is_same(table, name))
}

fn title(table: &[&super::Row], over: Option<&str>, choice: &ChartSelection) -> String {
    let own = load::phrases(&choice.rows, &free(table, over, choice).1);
    let what = choice.what.trim_end_matches(',');
    if own.is_empty() { what.to_owned() } else { format!("{what}: {own}") }
}

fn under(table: &[&super::Row], over: Option<&str>, choice: &ChartSelection) -> String {
    let common = free(table, over, choice).0;
    // Of no interest to most, and in the report; and that brunt makes the load goes without saying.
    let own = choice.rows.iter().all(|row| row.cell.settings.tester.is_none());
    let untold: &[&str] = if own { &["warmup", "timeout", "tester"] } else { &["warmup", "timeout"] };
    let common = common.iter().filter(|name| !untold.contains(&name.as_str()));
    let mut words = vec![load::phrases(&choice.rows, common)];
    words.extend(repeats(choice));
    words.extend(choice.body.spans().then(|| "from p50 (marker) to p99 (end)".to_owned()));
    if choice.body.metric() == Metric::Response && choice.rows.iter().all(|row| row.cell.rate().is_none()) {
        // Little's law; a chart is often shown without the report that says so.
        words.push("at saturation it is connections / throughput".to_owned());
    }
    words.retain(|word| !word.is_empty());
    words.join(", ")
}

/// `median and range of 3 repeats`; nothing where each cell has one.
fn repeats(choice: &ChartSelection) -> Option<String> {
    let done = || choice.rows.iter().map(|row| row.done).filter(|done| *done > 0);
    let (low, high) = (done().min()?, done().max()?);
    let figure = if choice.body.has_ranges() { "median and range" } else { "median" };
    match high {
        1 => None,
        _ if low == high => Some(format!("{figure} of {high} repeats")),
        _ => Some(format!("{figure} of {low} to {high} repeats")),
    }
}

impl Body {
    /// The figure it shows.
    fn metric(&self) -> Metric {
        match self {
            Self::Lines(lines) => lines.metric,
            Self::Bars(bars) => bars.metric,
        }
    }

    /// What is seen, a sentence a line or bar.
    pub(super) fn description(&self) -> String {
        match self {
            Self::Lines(lines) => lines.description(),
            Self::Bars(bars) => bars.description(),
        }
    }

    /// Whether anything shows its lowest and highest repeat.
    fn has_ranges(&self) -> bool {
        match self {
            Self::Lines(lines) => lines.points().any(|point| point.range.is_some()),
            Self::Bars(bars) => bars.bars().any(|bar| bar.range.is_some()),
        }
    }

    /// Whether bars go from one figure to another.
    fn spans(&self) -> bool {
        matches!(self, Self::Bars(bars) if bars.bars().any(|bar| bar.from.is_some()))
    }
}

/// The machine, in one line.
fn footer(report: &Report) -> String {
    let machines: BTreeSet<String> = report.envs.iter().map(notes::machine).collect();
    let mut machines = machines.into_iter();
    match (machines.next(), machines.len()) {
        (None, _) => String::new(),
        (Some(one), 0) => one,
        (Some(_), others) => format!("made under {} different circumstances, see the report", others + 1),
    }
}

/// A title as the name of a file.
fn slug(title: &str) -> String {
    let mut slug = String::new();
    for c in title.chars().flat_map(char::to_lowercase) {
        match c {
            c if c.is_ascii_alphanumeric() => slug.push(c),
            _ if slug.is_empty() || slug.ends_with('-') => {}
            _ => slug.push('-'),
        }
    }
    // Far below what file systems allow, with room for a number.
    slug.truncate(120);
    let slug = slug.trim_end_matches('-');
    if slug.is_empty() { "chart".to_owned() } else { slug.to_owned() }
}
