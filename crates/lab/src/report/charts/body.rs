//! Line charts: a figure over a swept value, one line per target, in one plot or in two of the same scale. Bar charts: one bar
//! per target, grouped by load.

use super::{axis::Axis, heat::Heat, knee::Knee, metric::Metric, ratios::Ratios, scale::Scale};
use crate::report::timeline::Timeline;

#[derive(Debug, Clone, PartialEq)]
pub enum Body {
    Lines(Lines),
    /// Lines of others' figures in one plot and of the run's in the next.
    Published(Lines),
    Bars(Bars),
    Ratios(Ratios),
    Heat(Heat),
    Knee(Knee),
    Timeline(Timeline),
}

#[derive(Debug, Clone, PartialEq)]
pub struct Lines {
    pub axis: Axis,
    pub metric: Metric,
    pub plots: Vec<Plot>,
    /// Whether the axis value is also the value to reach, as with offered and completed rates.
    pub shows_offered: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Plot {
    /// `p50`, `p99` or empty.
    pub heading: &'static str,
    pub series: Vec<Series>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// Index of the target, which determines its colour and marker.
    pub number: usize,
    pub name: String,
    pub points: Vec<Point>,
}

/// A point. The line is interrupted where `y` is missing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    pub x: f64,
    pub y: Option<f64>,
    /// Lowest and highest repeat.
    pub range: Option<(f64, f64)>,
    /// Whether most repeats have the verdict `ok`.
    pub is_trusted: bool,
}

impl Plot {
    /// Whether some line has two points with different `x`.
    pub fn has_a_line(&self) -> bool {
        self.series.iter().any(|series| {
            let mut places = series.points.iter().filter(|point| point.y.is_some()).map(|point| point.x);
            places.next().is_some_and(|first| places.any(|x| x != first))
        })
    }
}

impl Lines {
    pub fn points(&self) -> impl Iterator<Item = Point> {
        self.plots.iter().flat_map(|plot| &plot.series).flat_map(|series| series.points.iter().copied())
    }

    pub fn scales(&self) -> (Scale, Scale) {
        let x = Scale::at_points(&self.points().map(|point| point.x).collect::<Vec<_>>(), self.axis.starts_at_zero());
        let reached = self.points().flat_map(|point| [point.y, point.range.map(|range| range.1)]);
        (x, self.metric.scale(&reached.flatten().collect::<Vec<_>>()))
    }

    /// Whether each line is compared with linear scaling from its first point.
    pub fn shows_ideal(&self) -> bool {
        self.axis == Axis::ServerCores && self.metric == Metric::THROUGHPUT
    }

    /// Text alternative: the first and last point of each line.
    pub fn description(&self) -> String {
        let of = |plot: &Plot, series: &Series| {
            let mut placed = series.points.iter().filter_map(|point| Some((point.x, point.y?)));
            let at = |(x, y): (f64, f64)| format!("{} at {}", self.metric.value(y), self.axis.tick(x));
            let first = placed.next().map(at)?;
            let last = placed.next_back().map_or(String::new(), |last| format!(" to {}", at(last)));
            let heading = if plot.heading.is_empty() { String::new() } else { format!(" {}", plot.heading) };
            Some(format!("{}{heading}: {first}{last}.", series.name))
        };
        let each = self.plots.iter().flat_map(|plot| plot.series.iter().filter_map(move |series| of(plot, series)));
        each.collect::<Vec<_>>().join(" ")
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Bars {
    pub metric: Metric,
    pub groups: Vec<Group>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Group {
    pub heading: String,
    pub bars: Vec<Bar>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Bar {
    /// Index of the target, which determines its colour and marker.
    pub number: usize,
    pub name: String,
    /// Start of a bar that spans two figures; `None` for one from zero.
    pub from: Option<f64>,
    pub value: Option<f64>,
    /// Lowest and highest repeat.
    pub range: Option<(f64, f64)>,
    pub label: String,
    /// Whether most repeats have the verdict `ok`.
    pub is_trusted: bool,
}

impl Bars {
    pub fn bars(&self) -> impl Iterator<Item = &Bar> {
        self.groups.iter().flat_map(|group| &group.bars)
    }

    pub fn scale(&self) -> Scale {
        let reached = |bar: &Bar| [bar.from, bar.value, bar.range.map(|range| range.1)];
        self.metric.scale(&self.bars().flat_map(reached).flatten().collect::<Vec<_>>())
    }

    pub fn description(&self) -> String {
        let of = |group: &Group| {
            let heading = if group.heading.is_empty() { String::new() } else { format!("{}: ", group.heading) };
            let bars: Vec<String> = group.bars.iter().map(|bar| format!("{} {}", bar.name, bar.label)).collect();
            format!("{heading}{}.", bars.join("; "))
        };
        self.groups.iter().map(of).collect::<Vec<_>>().join(" ")
    }
}
