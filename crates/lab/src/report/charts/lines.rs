//! Figures against a swept value: a line for each target, in one plot or in two of the same scale side by side, and the
//! legend beneath, where it covers nothing.

use super::{
    axis::Axis,
    legend::Legend,
    metric::Metric,
    palette,
    scale::Scale,
    svg::{self, Area, Drawn, FAINT, GRID, HEADING, LINE, MARGIN, Side, WIDTH},
};
use plotters::{
    coord::ranged1d::Ranged,
    prelude::{ChartBuilder, Color, LabelAreaPosition, PathElement, ShapeStyle, TRANSPARENT},
};

/// A chart of lines.
#[derive(Debug, Clone, PartialEq)]
pub struct Lines {
    /// What varies from left to right.
    pub axis: Axis,
    /// What is shown.
    pub metric: Metric,
    /// One plot, or two.
    pub plots: Vec<Plot>,
    /// Whether the value of the axis is also the value that ought to be reached.
    pub shows_offered: bool,
}

/// One plot.
#[derive(Debug, Clone, PartialEq)]
pub struct Plot {
    /// Stands above it; may be empty.
    pub heading: String,
    /// Its lines.
    pub series: Vec<Series>,
}

/// A line.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// Of the target.
    pub number: usize,
    /// Of the target.
    pub name: String,
    /// By ascending `x`.
    pub points: Vec<Point>,
}

/// A point; the line is broken where there should be one and is none.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// Value of the axis.
    pub x: f64,
    /// Value of the figure.
    pub y: Option<f64>,
    /// Lowest and highest repeat.
    pub range: Option<(f64, f64)>,
    /// Whether most repeats may be believed.
    pub is_trusted: bool,
}

const HEADING_HEIGHT: i32 = 30;
const PLOT_HEIGHT: i32 = 290;
const TICK_HEIGHT: i32 = 24;
const AXIS_HEIGHT: i32 = 22;
const GUTTER: i32 = 24;
const LEFT: i32 = 58;
/// Beyond so many points whiskers and markers would be one grey, and the file too large for a page that shows it.
const MANY: usize = 260;

impl Plot {
    /// Whether it tells more than a table would: some line has two points.
    pub fn says_something(&self) -> bool {
        self.series.iter().any(|series| {
            let mut places = series.points.iter().filter(|point| point.y.is_some()).map(|point| point.x);
            places.next().is_some_and(|first| places.any(|x| x != first))
        })
    }
}

impl Lines {
    /// Pixels that the body takes.
    pub fn height(&self) -> i32 {
        HEADING_HEIGHT + PLOT_HEIGHT + TICK_HEIGHT + AXIS_HEIGHT + self.legend().height() + 6
    }

    /// Each line from its first point to its last, for those who do not see them.
    pub fn words(&self) -> String {
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

    /// The axes that all plots share.
    pub fn scales(&self) -> (Scale, Scale) {
        let x = Scale::at_points(&self.points().map(|point| point.x).collect::<Vec<_>>(), self.axis.starts_at_zero());
        let reached = self.points().flat_map(|point| [point.y, point.range.map(|range| range.1)]);
        (x, self.metric.scale(&reached.flatten().collect::<Vec<_>>()))
    }

    /// Whether each line is held against what its first point would be on so many times the cores.
    pub fn shows_ideal(&self) -> bool {
        self.axis == Axis::ServerCores && self.metric == Metric::Throughput
    }

    /// Draws everything below `top`.
    pub fn draw(&self, area: &Area, top: i32) -> Drawn {
        let (x, y) = self.scales();
        let count = self.plots.len().max(1) as i32;
        let width = (WIDTH - 2 * MARGIN - GUTTER * (count - 1)) / count;
        for (index, plot) in self.plots.iter().enumerate() {
            let left = MARGIN + index as i32 * (width + GUTTER);
            self.plot(area, plot, (left, top), width, (&x, &y))?;
        }
        self.legend().draw(area, top + HEADING_HEIGHT + PLOT_HEIGHT + TICK_HEIGHT + AXIS_HEIGHT + 12)
    }

    fn plot(&self, area: &Area, plot: &Plot, at: (i32, i32), width: i32, scales: (&Scale, &Scale)) -> Drawn {
        let ((left, top), (x, y)) = (at, scales);
        svg::text(area, (left, top + 10), &plot.heading, HEADING, Side::Left)?;
        let after = if plot.heading.is_empty() { left } else { left + HEADING.width(&plot.heading) + 8 };
        svg::text(area, (after, top + 10), &self.metric.unit(y), FAINT, Side::Left)?;

        let part = area.clone().shrink((left, top + HEADING_HEIGHT), (width, PLOT_HEIGHT + TICK_HEIGHT));
        let axis = x.with_ticks(self.labelled(x, width - LEFT));
        let mut chart = ChartBuilder::on(&part)
            .set_label_area_size(LabelAreaPosition::Left, LEFT)
            .set_label_area_size(LabelAreaPosition::Bottom, TICK_HEIGHT)
            .build_cartesian_2d(axis, y.clone())?;
        chart
            .configure_mesh()
            .disable_x_mesh()
            .axis_style(LINE)
            .bold_line_style(GRID)
            .light_line_style(TRANSPARENT)
            .label_style(FAINT.style())
            .x_label_formatter(&|value| self.axis.tick(*value))
            .y_label_formatter(&|value| self.metric.tick(y, *value))
            .draw()?;
        let below = top + HEADING_HEIGHT + PLOT_HEIGHT + TICK_HEIGHT + 10;
        let named = format!("{}{}", self.axis.label(), if x.is_log() { " (log scale)" } else { "" });
        svg::text(area, (left + LEFT + (width - LEFT) / 2, below), &named, FAINT, Side::Middle)?;

        let at = |point: (f64, f64)| chart.backend_coord(&point);
        if self.shows_offered {
            // From tick to tick, for it is straight on a linear scale only, and no higher than the plot.
            let top = y.range().end;
            let (within, beyond): (Vec<f64>, Vec<f64>) = x.ticks.iter().partition(|rate| **rate <= top);
            let end = beyond.first().map(|_| top).filter(|top| within.first().is_some_and(|first| first < top));
            let offered: Vec<(i32, i32)> = within.into_iter().chain(end).map(|rate| at((rate, rate))).collect();
            area.draw(&PathElement::new(offered, ShapeStyle { color: LINE.into(), filled: false, stroke_width: 1 }))?;
        }
        if self.shows_ideal() {
            for series in &plot.series {
                series.ideal(area, y.range().end, at)?;
            }
        }
        let every = self.points().count().div_ceil(MANY).max(1);
        for series in &plot.series {
            series.draw(area, every, at)?;
        }
        Ok(())
    }

    /// The ticks that get a label: all if there is room, and in any case the last.
    fn labelled(&self, x: &Scale, width: i32) -> Vec<f64> {
        let mut kept: Vec<f64> = Vec::new();
        let mut free = f64::INFINITY;
        for tick in x.ticks.iter().rev() {
            let (middle, half) =
                (x.place(*tick) * f64::from(width), f64::from(FAINT.width(&self.axis.tick(*tick))) / 2.0);
            if middle + half + 6.0 <= free {
                kept.push(*tick);
                free = middle - half;
            }
        }
        kept
    }

    /// The points of all lines.
    pub fn points(&self) -> impl Iterator<Item = Point> {
        self.plots.iter().flat_map(|plot| &plot.series).flat_map(|series| series.points.iter().copied())
    }

    fn legend(&self) -> Legend {
        let mut remarks = Vec::new();
        if self.shows_offered {
            remarks.push("grey: offered");
        }
        if self.shows_ideal() {
            remarks.push("thin: in proportion to cores");
        }
        if self.points().any(|point| point.y.is_some() && !point.is_trusted) {
            remarks.push("hollow: not to be trusted, see the verdicts");
        }
        let series = self.plots.iter().flat_map(|plot| &plot.series);
        let seen = series.filter(|series| series.points.iter().any(|point| point.y.is_some()));
        Legend::new(seen.map(|series| (series.number, series.name.as_str())), &remarks)
    }
}

impl Series {
    /// What the first point would be on so many times the cores, no higher than the plot.
    fn ideal(&self, area: &Area, top: f64, at: impl Fn((f64, f64)) -> (i32, i32)) -> Drawn {
        let placed = |point: &&Point| point.y.is_some_and(|y| y > 0.0) && point.x > 0.0;
        let (Some(first), Some(last)) = (self.points.iter().find(placed), self.points.last()) else { return Ok(()) };
        let each = first.y.unwrap_or(0.0) / first.x;
        let end = last.x.min(top / each);
        let line = ShapeStyle { color: palette::colour(self.number).mix(0.5), filled: false, stroke_width: 1 };
        area.draw(&PathElement::new([at((first.x, first.x * each)), at((end, end * each))], line))
    }

    /// `every` is how many points share a marker.
    fn draw(&self, area: &Area, every: usize, at: impl Fn((f64, f64)) -> (i32, i32)) -> Drawn {
        let colour = palette::colour(self.number);
        for (x, (low, high)) in self.points.iter().filter_map(|point| Some((point.x, point.range?))) {
            let (low, high) = (at((x, low)), at((x, high)));
            if every == 1 && low.1 != high.1 {
                svg::line(area, low, high, colour, 1)?;
            }
        }
        for part in self.points.split(|point| point.y.is_none()).filter(|part| part.len() > 1) {
            let path: Vec<(i32, i32)> = part.iter().filter_map(|point| Some(at((point.x, point.y?)))).collect();
            area.draw(&PathElement::new(path, ShapeStyle { color: colour.into(), filled: false, stroke_width: 2 }))?;
        }
        for point in self.points.iter().step_by(every) {
            if let Some(y) = point.y {
                palette::marker(area, self.number, at((point.x, y)), palette::RADIUS, !point.is_trusted)?;
            }
        }
        Ok(())
    }
}
