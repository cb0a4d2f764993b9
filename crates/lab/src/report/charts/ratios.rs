//! Chart of a sliced experiment: every target's ratio to the baseline with its interval, one row a target, on a logarithmic
//! axis with the margin as a band.

use crate::report::compared::main_ratio;
use crate::report::{Report, answers};
use brunt_results::comparison::Ratio;
use brunt_results::figure::COST;
use brunt_results::units::trimmed;
use brunt_slices::LoadComparison;

#[derive(Debug, Clone, PartialEq)]
pub struct Ratios {
    pub margin: f64,
    pub scale: RatioScale,
    pub groups: Vec<RatioGroup>,
}

/// A load.
#[derive(Debug, Clone, PartialEq)]
pub struct RatioGroup {
    pub heading: String,
    /// The figures of the panels.
    pub figures: Vec<String>,
    pub rows: Vec<RatioRow>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct RatioRow {
    /// Index of the target, which determines its colour and marker.
    pub number: usize,
    pub name: String,
    /// One a panel: of the figure that says which target is faster, and of CPU time a request.
    pub marks: Vec<Option<RatioMark>>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct RatioMark {
    pub ratio: f64,
    pub low: f64,
    pub high: f64,
    /// Whether the interval answers the question; drawn hollow if not.
    pub is_answered: bool,
    pub label: String,
}

/// Rows of one chart at most, or one load.
const MOST_ROWS: usize = 36;

/// The charts, with their titles; more than one if there are many loads.
pub fn ratio_charts(report: &Report, targets: &[String]) -> Vec<(String, Ratios)> {
    let Some(first) = report.comparisons.first() else { return Vec::new() };
    let mut parts: Vec<Vec<RatioGroup>> = Vec::new();
    for group in report.comparisons.iter().filter_map(|load| group(report, load, targets)) {
        match parts.last_mut() {
            Some(part) if part.iter().map(|group| group.rows.len()).sum::<usize>() + group.rows.len() <= MOST_ROWS => {
                part.push(group);
            }
            _ => parts.push(vec![group]),
        }
    }
    let count = parts.len();
    let chart = |(index, groups): (usize, Vec<RatioGroup>)| {
        let part = if count > 1 { format!(", part {} of {count}", index + 1) } else { String::new() };
        (format!("Ratio to {}{part}", first.baseline), Ratios::new(first.margin, groups))
    };
    parts.into_iter().enumerate().map(chart).collect()
}

fn group(report: &Report, load: &LoadComparison, targets: &[String]) -> Option<RatioGroup> {
    let heading = if report.comparisons.len() > 1 { answers::load(report, load) } else { String::new() };
    let compared = load.targets.iter().filter(|target| !target.ratios.is_empty());
    let rows: Vec<RatioRow> = compared
        .map(|target| RatioRow {
            number: targets.iter().position(|name| *name == target.target).unwrap_or(0),
            name: target.target.clone(),
            marks: [main_ratio(&target.ratios), target.ratio(&COST)].map(|ratio| ratio.map(RatioMark::of)).into(),
        })
        .collect();
    let main = load.targets.iter().find_map(|target| main_ratio(&target.ratios))?;
    let figures = [main.figure, &COST].map(|figure| figure.label.to_owned()).into();
    Some(RatioGroup { heading, figures, rows })
}

impl RatioMark {
    pub fn of(ratio: &Ratio) -> Self {
        let is_answered = ratio.verdict.is_answer();
        Self { ratio: ratio.ratio, low: ratio.low, high: ratio.high, is_answered, label: ratio.text() }
    }
}

impl Ratios {
    pub fn new(margin: f64, groups: Vec<RatioGroup>) -> Self {
        Self { margin, scale: RatioScale::of(&groups, margin), groups }
    }

    pub fn description(&self) -> String {
        let row = |group: &RatioGroup, row: &RatioRow| {
            let marks = row.marks.iter().zip(&group.figures);
            let marks: Vec<String> =
                marks.filter_map(|(mark, figure)| Some(format!("{figure} {}", mark.as_ref()?.label))).collect();
            format!("{}: {}", row.name, marks.join(", "))
        };
        let of = |group: &RatioGroup| {
            let heading = if group.heading.is_empty() { String::new() } else { format!("{}: ", group.heading) };
            let rows: Vec<String> = group.rows.iter().map(|one| row(group, one)).collect();
            format!("{heading}{}.", rows.join("; "))
        };
        self.groups.iter().map(of).collect::<Vec<_>>().join(" ")
    }
}

/// A logarithmic scale of ratios.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RatioScale {
    low: f64,
    high: f64,
}

const MOST: f64 = 1e6;

impl RatioScale {
    /// Includes 1, twice the margin, and every interval.
    fn of(groups: &[RatioGroup], margin: f64) -> Self {
        let marks = || groups.iter().flat_map(|group| &group.rows).flat_map(|row| row.marks.iter().flatten());
        let least = (1.0 + margin).powi(2);
        let low = marks().map(|mark| mark.low).fold(1.0 / least, f64::min).max(1.0 / MOST);
        let high = marks().map(|mark| mark.high).fold(least, f64::max).min(MOST);
        let pad = (high / low).powf(0.04);
        Self { low: low / pad, high: high * pad }
    }

    /// 0 to 1.
    pub fn place(self, ratio: f64) -> f64 {
        let place = (ratio / self.low).ln() / (self.high / self.low).ln();
        if place.is_nan() { 0.0 } else { place.clamp(0.0, 1.0) }
    }

    /// Round ratios on both sides of 1, a tenth of the scale apart, with their labels.
    pub fn ticks(self) -> Vec<(f64, String)> {
        const ROUND: [f64; 13] = [1.02, 1.05, 1.1, 1.2, 1.5, 2.0, 3.0, 5.0, 10.0, 30.0, 100.0, 1e3, 1e4];
        const BELOW: [f64; 12] = [0.98, 0.95, 0.9, 0.8, 0.7, 0.5, 0.3, 0.2, 0.1, 0.03, 0.01, 1e-3];
        let mut ticks = vec![1.0];
        for side in [&ROUND[..], &BELOW[..]] {
            let mut last = 1.0;
            for ratio in side.iter().copied().filter(|ratio| (self.low..=self.high).contains(ratio)) {
                if (self.place(ratio) - self.place(last)).abs() >= 0.12 {
                    ticks.push(ratio);
                    last = ratio;
                }
            }
        }
        ticks.sort_by(f64::total_cmp);
        ticks.into_iter().map(|ratio| (ratio, format!("x{}", trimmed(ratio)))).collect()
    }
}
