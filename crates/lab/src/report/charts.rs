//! Charts of a report as data: which ones there are, their titles, series and bars. [`super::svg`] and the HTML page
//! draw them.

mod axis;
mod body;
mod cost;
mod heat;
mod knee;
pub(super) mod load;
mod metric;
mod ratios;
mod scale;
mod select_charts;

use super::{Report, knee_point::KNEE_FACTOR, notes, tables::selections};
use crate::group::distinct;
use brunt_results::result::RATE_TOLERANCE;
use brunt_results::units::{share, trimmed};
use select_charts::ChartSelection;
use std::collections::BTreeSet;

pub(super) use axis::Axis;
pub(super) use body::{Bar, Bars, Body, Group, Lines, Plot, Point, Series};
pub(crate) use cost::{CostChart, CostCurve, CostMark};
pub(super) use heat::Heat;
pub(crate) use knee::Knee;
pub(super) use metric::Metric;
pub(super) use ratios::{RatioGroup, RatioMark, RatioRow, Ratios};
pub(super) use scale::Scale;
pub(super) use select_charts::misses;

#[derive(Debug, Clone)]
pub struct Chart {
    /// Index of the table it belongs to.
    pub table: usize,
    /// Unique file name in [`CHARTS_FOLDER`](crate::run_directory::CHARTS_FOLDER).
    pub file: String,
    pub(super) rows: Vec<usize>,
    pub(super) body: Body,
    pub title: String,
    /// The load, the repeats, how to read it.
    pub(super) load: String,
    pub(super) subtitle: String,
    pub(super) footer: String,
}

pub fn charts(report: &Report) -> Vec<Chart> {
    let targets = targets(report);
    let footer = footer(report);
    let mut charts: Vec<Chart> = Vec::new();
    let mut files = BTreeSet::new();
    for (title, ratios) in ratios::ratio_charts(report, &targets) {
        let body = Body::Ratios(ratios);
        let file = format!("{}.svg", slug(&title));
        files.insert(file.clone());
        let load = "95 % intervals; band: the margin; hollow: cannot tell".to_owned();
        let subtitle = format!("{}: {load}", report.experiment.name);
        charts.push(Chart { table: 0, file, rows: Vec::new(), body, title, load, subtitle, footer: footer.clone() });
    }
    charts.extend(knees(report, &mut files, &footer));
    for chart in report.published.iter().flat_map(|published| published.charts(report)) {
        charts.push(Chart { file: free_file(&mut files, &chart.title), ..chart });
    }
    if report.is_colocated() {
        charts.extend(colocated(report, &footer));
        return charts;
    }
    let shown = selections(report).into_iter().filter(|table| !table.rows.is_empty());
    for (table, part) in shown.enumerate() {
        let settings = TableSettings::of(&part.rows, part.over);
        for choice in select_charts::select_charts(&part.rows, part.over, &targets) {
            let load = under(&settings, &choice);
            let subtitle = format!("{}: {load}", report.experiment.name);
            let title = title(&settings, &choice);
            let file = free_file(&mut files, &title);
            let rows = choice.rows.iter().map(|row| report.index_of(row)).collect();
            let footer = footer.clone();
            charts.push(Chart { table, file, rows, body: choice.body, title, load, subtitle, footer });
        }
    }
    charts
}

/// Curves of the rows whose offered rate changed.
fn knees(report: &Report, files: &mut BTreeSet<String>, footer: &str) -> Vec<Chart> {
    let is_one = report.rows.len() == 1;
    let of_row = |(number, row): (usize, &super::Row)| {
        let (points, found) = (row.parts.points(), row.parts.knee()?);
        let of = if is_one { String::new() } else { format!(": {}", row.cell.id()) };
        let title = format!("Response time by offered rate{of}");
        let interval = (found.keeps_up, found.falls_behind);
        let load = format!(
            "{}; blue circle: it keeps up; orange square: it answers less than {} of what is offered, or p99 is above {} times that of \
             low rates; band: the knee",
            found.words(),
            share(1.0 - RATE_TOLERANCE),
            KNEE_FACTOR
        );
        Some(Chart {
            table: 0,
            file: free_file(files, &title),
            rows: vec![number],
            body: Body::Knee(Knee { figure: "p99".to_owned(), bound_us: None, points, interval }),
            subtitle: load.clone(),
            title,
            load,
            footer: footer.to_owned(),
        })
    };
    report.rows.iter().enumerate().filter_map(of_row).collect()
}

/// Charts of services with best-effort jobs beside them.
fn colocated(report: &Report, footer: &str) -> Vec<Chart> {
    let objective = report.rows.iter().find_map(|row| Some(&row.colocated.as_ref()?.objective));
    let Some(objective) = objective else { return Vec::new() };
    let (figure, limit) = (&objective.figure, trimmed(objective.limit_ms));
    let chart = |title: String, load: String, body: Body| Chart {
        table: 0,
        file: format!("{}.svg", slug(&title)),
        rows: Vec::new(),
        body,
        subtitle: format!("{}: {load}", report.experiment.name),
        title,
        load,
        footer: footer.to_owned(),
    };
    let heat = heat::heat_maps(report).into_iter().map(|(target, heat)| {
        let of = target.map_or(String::new(), |target| format!(" of {target}"));
        let title = format!("{figure}{of} in percent of its limit");
        chart(title, format!("by offered req/s and co-runner; limit {limit} ms"), Body::Heat(heat))
    });
    let timeline = report.timeline.as_ref().map(|timeline| {
        chart("Decisions over time".to_owned(), timeline.trial.clone(), Body::Timeline(timeline.clone()))
    });
    heat.chain(timeline).collect()
}

/// Targets with a row, in plan order. The index determines colour and marker in all charts.
pub(super) fn targets(report: &Report) -> Vec<String> {
    let shown = distinct(report.rows.iter().map(|row| &row.cell.target));
    let planned = report.experiment.cells.run.iter().map(|cell| &cell.target).filter(|target| shown.contains(target));
    distinct(planned.chain(shown.iter().copied())).into_iter().cloned().collect()
}

/// The settings that tell rows of a table apart, without the axis that its rows were selected over.
struct TableSettings {
    /// Those that all rows share.
    common: Vec<String>,
    own: Vec<String>,
}

impl TableSettings {
    fn of(rows: &[&super::Row], over: Option<&str>) -> Self {
        let (common, own) = load::telling(rows, None, over).into_iter().partition(|name| load::is_same(rows, name));
        Self { common, own }
    }
}

/// Those of the names that axis and headings of a chart do not show.
fn untold<'a>(names: &'a [String], choice: &'a ChartSelection) -> impl Iterator<Item = &'a String> {
    names.iter().filter(|name| !choice.told.contains(name))
}

fn title(settings: &TableSettings, choice: &ChartSelection) -> String {
    let own = load::phrases(&choice.rows, untold(&settings.own, choice));
    let what = choice.what.trim_end_matches(',');
    if own.is_empty() { what.to_owned() } else { format!("{what}: {own}") }
}

fn under(settings: &TableSettings, choice: &ChartSelection) -> String {
    // Omitted for brevity; the tester only if it is brunt.
    let own = choice.rows.iter().all(|row| row.cell.settings.tester.is_none());
    let brief: &[&str] = if own { &["warmup", "timeout", "tester"] } else { &["warmup", "timeout"] };
    let common = untold(&settings.common, choice).filter(|name| !brief.contains(&name.as_str()));
    let mut words = vec![load::phrases(&choice.rows, common)];
    words.extend(repeats(choice));
    let spans = matches!(&choice.body, Body::Bars(bars) if bars.bars().any(|bar| bar.from.is_some()));
    words.extend(spans.then(|| "from p50 (marker) to p99 (end)".to_owned()));
    if choice.body.is_of(Metric::RESPONSE) && choice.rows.iter().all(|row| row.cell.rate().is_none()) {
        // Little's law. Charts are often shown without the report.
        words.push("at saturation it is connections / throughput".to_owned());
    }
    words.retain(|word| !word.is_empty());
    words.join(", ")
}

/// `median and range of 3 repeats`; `None` for single repeats.
fn repeats(choice: &ChartSelection) -> Option<String> {
    let done = || choice.rows.iter().map(|row| row.done).filter(|done| *done > 0);
    let (low, high) = (done().min()?, done().max()?);
    let has_ranges = match &choice.body {
        Body::Lines(lines) => lines.points().any(|point| point.range.is_some()),
        Body::Bars(bars) => bars.bars().any(|bar| bar.range.is_some()),
        Body::Published(_) | Body::Ratios(_) | Body::Heat(_) | Body::Knee(_) | Body::Timeline(_) => false,
    };
    let figure = if has_ranges { "median and range" } else { "median" };
    match high {
        1 => None,
        _ if low == high => Some(format!("{figure} of {high} repeats")),
        _ => Some(format!("{figure} of {low} to {high} repeats")),
    }
}

impl Body {
    fn is_of(&self, metric: Metric) -> bool {
        match self {
            Self::Lines(lines) | Self::Published(lines) => lines.metric == metric,
            Self::Bars(bars) => bars.metric == metric,
            Self::Ratios(_) | Self::Heat(_) | Self::Knee(_) | Self::Timeline(_) => false,
        }
    }

    /// Text alternative: one sentence per line or bar.
    pub(super) fn description(&self) -> String {
        match self {
            Self::Lines(lines) | Self::Published(lines) => lines.description(),
            Self::Bars(bars) => bars.description(),
            Self::Ratios(ratios) => ratios.description(),
            Self::Heat(heat) => heat.description(),
            Self::Knee(knee) => knee.description(),
            Self::Timeline(timeline) => timeline.description(),
        }
    }
}

pub(super) fn footer(report: &Report) -> String {
    let machines: BTreeSet<String> = report.envs.iter().map(notes::machine).collect();
    let mut machines = machines.into_iter();
    match (machines.next(), machines.len()) {
        (None, _) => String::new(),
        (Some(one), 0) => one,
        (Some(_), others) => format!("{} different environments, see the report", others + 1),
    }
}

/// A file name after the title that no other chart has.
fn free_file(files: &mut BTreeSet<String>, title: &str) -> String {
    let slug = slug(title);
    let mut names = (1..).map(|n| if n == 1 { format!("{slug}.svg") } else { format!("{slug}-{n}.svg") });
    names.find(|name| files.insert(name.clone())).unwrap_or_default()
}

fn slug(title: &str) -> String {
    let mut slug = String::new();
    for c in title.chars().flat_map(char::to_lowercase) {
        match c {
            c if c.is_ascii_alphanumeric() => slug.push(c),
            _ if slug.is_empty() || slug.ends_with('-') => {}
            _ => slug.push('-'),
        }
    }
    // Leaves room for a number within file system limits.
    slug.truncate(120);
    let slug = slug.trim_end_matches('-');
    if slug.is_empty() { "chart".to_owned() } else { slug.to_owned() }
}

/// Colours of the targets, the same in every chart of a report: those of Okabe and Ito ("Color Universal Design", 2008),
/// without the yellow, which is illegible on white, and with darker ones added. Their number differs from that of the shapes,
/// so targets of one colour differ in shape.
pub const COLOURS: [(u8, u8, u8); 11] = [
    (0x00, 0x72, 0xB2),
    (0xD5, 0x5E, 0x00),
    (0x00, 0x9E, 0x73),
    (0xCC, 0x79, 0xA7),
    (0xE6, 0x9F, 0x00),
    (0x56, 0xB4, 0xE9),
    (0x33, 0x33, 0x33),
    (0x88, 0x22, 0x55),
    (0x99, 0x99, 0x33),
    (0x33, 0x22, 0x88),
    (0x8C, 0x56, 0x4B),
];

/// Corners of the markers around their centre, in tenths of the radius; an empty list is a circle.
pub const SHAPES: [&[(i32, i32)]; 8] = [
    &[],
    &[(-9, -9), (9, -9), (9, 9), (-9, 9)],
    &[(0, -12), (11, 8), (-11, 8)],
    &[(0, -13), (11, 0), (0, 13), (-11, 0)],
    &[(0, 12), (11, -8), (-11, -8)],
    &[
        (-4, -12),
        (4, -12),
        (4, -4),
        (12, -4),
        (12, 4),
        (4, 4),
        (4, 12),
        (-4, 12),
        (-4, 4),
        (-12, 4),
        (-12, -4),
        (-4, -4),
    ],
    &[(-11, -10), (11, 10), (11, -10), (-11, 10)],
    &[(-10, -11), (10, -11), (-10, 11), (10, 11)],
];
