//! Figures that others published, drawn beside those of a run: theirs in the left plot, the run's in the right one, on the same
//! scales. A file has one `[[table]]` for each chart of a document; `docs/guide/report.md` describes it.

use super::charts::{self, Axis, Body, Chart, Lines, Metric, Plot, Point, Series};
use super::{Figures, Report, Row};
use brunt_results::{Error, figure};
use serde::Deserialize;
use std::{collections::BTreeMap, fs, path::Path};

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// What published the figures.
    source: String,
    /// Where they were measured.
    machine: String,
    #[serde(rename = "table")]
    tables: Vec<Table>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    title: String,
    /// Settings that all rows share, which select the rows of the run, as in `--only`.
    #[serde(default)]
    load: BTreeMap<String, Setting>,
    axis: Axis,
    /// What the numbers of a row are, after the value on the axis.
    figures: Vec<Figure>,
    series: Vec<Line>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
enum Setting {
    Number(u64),
    Text(String),
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    name: String,
    /// The target of the run that has the same colour, and gives the series its name.
    target: Option<String>,
    /// `nan` is a figure that was not published.
    rows: Vec<Vec<f64>>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Figure {
    /// Completed requests a second.
    Requests,
    /// Response time in microseconds: as published, and the run's median.
    LatencyUs,
    /// CPU of the server; 100 is one core.
    CpuPercent,
}

impl Figure {
    fn metric(self) -> Metric {
        match self {
            Self::Requests => Metric::THROUGHPUT,
            Self::LatencyUs => Metric::RESPONSE,
            Self::CpuPercent => Metric::CPU,
        }
    }

    fn headings(self) -> [&'static str; 2] {
        match self {
            Self::LatencyUs => ["published", "this run, p50"],
            _ => ["published", "this run"],
        }
    }

    fn of(self, figures: &Figures) -> Option<f64> {
        match self {
            Self::Requests => figures.rate.map(|rate| rate.median),
            Self::LatencyUs => figures.get(&figure::P50),
            Self::CpuPercent => figures.get(&figure::CPU),
        }
        .filter(|value| value.is_finite())
    }
}

impl Published {
    pub fn read(file: &Path) -> Result<Self, Error> {
        let named = |why: String| Error::Usage(format!("{}: {why}", file.display()));
        let text = fs::read_to_string(file).map_err(|e| named(e.to_string()))?;
        let read: Self = toml::from_str(&text).map_err(|e| named(e.to_string().trim_end().to_owned()))?;
        for table in &read.tables {
            let wanted = table.figures.len() + 1;
            for line in &table.series {
                if let Some(row) = line.rows.iter().find(|row| row.len() != wanted || !row[0].is_finite()) {
                    return Err(named(format!(
                        "table '{}', series '{}': {row:?} has to be {wanted} numbers, the value on the axis first",
                        table.title, line.name
                    )));
                }
            }
        }
        Ok(read)
    }

    /// A chart for each figure of each table, without a file name.
    pub(super) fn charts(&self, report: &Report) -> Vec<Chart> {
        let targets = charts::targets(report);
        let of = |table: &Table| -> Vec<Chart> {
            (0..table.figures.len()).map(|index| self.chart(report, table, index, &targets)).collect()
        };
        self.tables.iter().flat_map(of).collect()
    }

    fn chart(&self, report: &Report, table: &Table, index: usize, targets: &[String]) -> Chart {
        let figure = table.figures[index];
        let rows: Vec<&Row> = report.rows.iter().filter(|row| table.is_of(row)).collect();
        let [theirs, ours] = figure.headings();
        let plots = vec![
            Plot { heading: theirs, series: table.published(index, targets) },
            Plot { heading: ours, series: measured(table.axis, figure, &rows, targets) },
        ];
        let missing = if plots[1].series.is_empty() { "; this run has no such load" } else { "" };
        let load = format!("{}, {}{missing}", self.source, self.machine);
        let title =
            format!("{} by {}, published and here: {}", figure.metric().name(), table.axis.title(), table.title);
        let plots = plots.into_iter().filter(|plot| !plot.series.is_empty()).collect();
        let body = Body::Published(Lines { axis: table.axis, metric: figure.metric(), plots, shows_offered: false });
        let subtitle = format!("published: {load}");
        Chart {
            table: 0,
            file: String::new(),
            rows: Vec::new(),
            body,
            title,
            load,
            subtitle,
            footer: charts::footer(report),
        }
    }
}

impl Table {
    fn is_of(&self, row: &Row) -> bool {
        self.load.iter().all(|(name, value)| {
            row.cell.value(name).is_some_and(|own| match value {
                Setting::Number(number) => own == number.to_string(),
                Setting::Text(text) => own == *text,
            })
        })
    }

    /// A series that is a target of the run has its name, so that the legend has one entry for both.
    fn published(&self, index: usize, targets: &[String]) -> Vec<Series> {
        let of = |(place, line): (usize, &Line)| {
            let points = line.rows.iter().map(|row| point(row[0], Some(row[index + 1]), true)).collect();
            let own = targets.iter().position(|target| Some(target) == line.target.as_ref());
            let name = own.map_or(&line.name, |own| &targets[own]).clone();
            Series { number: own.unwrap_or(targets.len() + place), name, points }
        };
        self.series.iter().enumerate().map(of).collect()
    }
}

/// One line a target; of several rows at one place the one with the highest throughput.
fn measured(axis: Axis, figure: Figure, rows: &[&Row], targets: &[String]) -> Vec<Series> {
    let of = |(number, name): (usize, &String)| {
        let mut own: Vec<(f64, &Row)> = rows
            .iter()
            .filter(|row| row.cell.target == *name)
            .filter_map(|row| Some((axis.value(row)?, *row)))
            .collect();
        let rate = |row: &Row| row.figures.rate.map_or(0.0, |rate| rate.median);
        own.sort_by(|(x, a), (y, b)| x.total_cmp(y).then(rate(b).total_cmp(&rate(a))));
        own.dedup_by_key(|(x, _)| *x);
        let points: Vec<Point> =
            own.iter().map(|(x, row)| point(*x, figure.of(&row.figures), !row.is_untrusted())).collect();
        points.iter().any(|point| point.y.is_some()).then(|| Series { number, name: name.clone(), points })
    };
    targets.iter().enumerate().filter_map(of).collect()
}

fn point(x: f64, y: Option<f64>, is_trusted: bool) -> Point {
    Point { x, y: y.filter(|y| y.is_finite()), range: None, is_trusted }
}
