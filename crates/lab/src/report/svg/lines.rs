//! Drawing of line charts, with the legend beneath the plots.

use super::{Area, Drawn, FAINT, GRID, HEADING, HPos, LABEL, LINE, MARGIN, RADIUS, WIDTH, colour, line, marker, text};
use crate::report::charts::{Lines, Plot, Point, Scale, Series};
use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};
use plotters::prelude::{ChartBuilder, Color, LabelAreaPosition, PathElement, TRANSPARENT};
use std::ops::Range;

const HEADING_HEIGHT: i32 = 30;
const PLOT_HEIGHT: i32 = 290;
const TICK_HEIGHT: i32 = 24;
const AXIS_HEIGHT: i32 = 22;
const GUTTER: i32 = 24;
const LEFT: i32 = 58;
/// Points per marker grow beyond this count, and whiskers are omitted: they would overlap and bloat the file.
const MAX_MARKERS: usize = 260;

pub fn height(lines: &Lines) -> i32 {
    HEADING_HEIGHT + PLOT_HEIGHT + TICK_HEIGHT + AXIS_HEIGHT + legend(lines).height() + 6
}

pub fn draw(lines: &Lines, area: &Area, top: i32) -> Drawn {
    let (x, y) = lines.scales();
    let count = lines.plots.len().max(1) as i32;
    let width = (WIDTH - 2 * MARGIN - GUTTER * (count - 1)) / count;
    for (index, plot) in lines.plots.iter().enumerate() {
        let left = MARGIN + index as i32 * (width + GUTTER);
        draw_plot(lines, area, plot, (left, top), width, (&x, &y))?;
    }
    legend(lines).draw(area, top + HEADING_HEIGHT + PLOT_HEIGHT + TICK_HEIGHT + AXIS_HEIGHT + 12)
}

fn draw_plot(lines: &Lines, area: &Area, plot: &Plot, at: (i32, i32), width: i32, scales: (&Scale, &Scale)) -> Drawn {
    let ((left, top), (x, y)) = (at, scales);
    text(area, (left, top + 10), plot.heading, HEADING, HPos::Left)?;
    let after = if plot.heading.is_empty() { left } else { left + HEADING.width(plot.heading) + 8 };
    text(area, (after, top + 10), &lines.metric.unit(y), FAINT, HPos::Left)?;

    let part = area.clone().shrink((left, top + HEADING_HEIGHT), (width, PLOT_HEIGHT + TICK_HEIGHT));
    let axis = x.with_ticks(labelled(lines, x, width - LEFT));
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
        .x_label_formatter(&|value| lines.axis.tick(*value))
        .y_label_formatter(&|value| lines.metric.tick(y, *value))
        .draw()?;
    let below = top + HEADING_HEIGHT + PLOT_HEIGHT + TICK_HEIGHT + 10;
    let named = format!("{}{}", lines.axis.label(), if x.is_log { " (log scale)" } else { "" });
    text(area, (left + LEFT + (width - LEFT) / 2, below), &named, FAINT, HPos::Center)?;

    let at = |point: (f64, f64)| chart.backend_coord(&point);
    if lines.shows_offered {
        // From tick to tick, because it is straight on a linear scale only, and clipped to the plot.
        let top = y.range().end;
        let (within, beyond): (Vec<f64>, Vec<f64>) = x.ticks.iter().partition(|rate| **rate <= top);
        let end = beyond.first().map(|_| top).filter(|top| within.first().is_some_and(|first| first < top));
        let offered: Vec<(i32, i32)> = within.into_iter().chain(end).map(|rate| at((rate, rate))).collect();
        area.draw(&PathElement::new(offered, LINE.stroke_width(1)))?;
    }
    if lines.shows_ideal() {
        for series in &plot.series {
            draw_ideal(series, area, y.range().end, at)?;
        }
    }
    let every = lines.points().count().div_ceil(MAX_MARKERS).max(1);
    for series in &plot.series {
        draw_series(series, area, every, at)?;
    }
    Ok(())
}

/// The ticks that get a label: as many as fit, always the last.
fn labelled(lines: &Lines, x: &Scale, width: i32) -> Vec<f64> {
    let mut kept: Vec<f64> = Vec::new();
    let mut free = f64::INFINITY;
    for tick in x.ticks.iter().rev() {
        let (middle, half) = (x.place(*tick) * f64::from(width), f64::from(FAINT.width(&lines.axis.tick(*tick))) / 2.0);
        if middle + half + 6.0 <= free {
            kept.push(*tick);
            free = middle - half;
        }
    }
    kept
}

fn legend(lines: &Lines) -> Legend {
    let mut remarks = Vec::new();
    if lines.shows_offered {
        remarks.push("grey: offered");
    }
    if lines.shows_ideal() {
        remarks.push("thin: in proportion to cores");
    }
    if lines.points().any(|point| point.y.is_some() && !point.is_trusted) {
        remarks.push("hollow: most trials not ok, see the verdicts");
    }
    let series = lines.plots.iter().flat_map(|plot| &plot.series);
    let seen = series.filter(|series| series.points.iter().any(|point| point.y.is_some()));
    Legend::new(seen.map(|series| (series.number, series.name.as_str())), &remarks)
}

/// Linear scaling from the first point, clipped to the plot.
fn draw_ideal(series: &Series, area: &Area, top: f64, at: impl Fn((f64, f64)) -> (i32, i32)) -> Drawn {
    let placed = |point: &&Point| point.y.is_some_and(|y| y > 0.0) && point.x > 0.0;
    let (Some(first), Some(last)) = (series.points.iter().find(placed), series.points.last()) else { return Ok(()) };
    let each = first.y.unwrap_or(0.0) / first.x;
    let end = last.x.min(top / each);
    let style = colour(series.number).mix(0.5).stroke_width(1);
    area.draw(&PathElement::new([at((first.x, first.x * each)), at((end, end * each))], style))
}

/// `every` is the number of points per marker.
fn draw_series(series: &Series, area: &Area, every: usize, at: impl Fn((f64, f64)) -> (i32, i32)) -> Drawn {
    let own = colour(series.number);
    for (x, (low, high)) in series.points.iter().filter_map(|point| Some((point.x, point.range?))) {
        let (low, high) = (at((x, low)), at((x, high)));
        if every == 1 && low.1 != high.1 {
            line(area, low, high, own, 1)?;
        }
    }
    for part in series.points.split(|point| point.y.is_none()).filter(|part| part.len() > 1) {
        let path: Vec<(i32, i32)> = part.iter().filter_map(|point| Some(at((point.x, point.y?)))).collect();
        area.draw(&PathElement::new(path, own.stroke_width(2)))?;
    }
    for point in series.points.iter().step_by(every) {
        if let Some(y) = point.y {
            marker(area, series.number, at((point.x, y)), RADIUS, !point.is_trusted)?;
        }
    }
    Ok(())
}

impl Ranged for Scale {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, (first, last): (i32, i32)) -> i32 {
        first + (self.place(*value) * f64::from(last - first)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        if hint.weight().allow_light_points() { Vec::new() } else { self.ticks.clone() }
    }

    fn range(&self) -> Range<f64> {
        self.ticks.first().copied().unwrap_or(0.0)..self.ticks.last().copied().unwrap_or(1.0)
    }
}

impl ValueFormatter<f64> for Scale {}

/// The legend, beneath the plots in as many columns as the longest name allows.
struct Legend {
    targets: Vec<(usize, String)>,
    remark: String,
}

const LEGEND_ROW: i32 = 21;
const LEGEND_LINE: i32 = 24;
/// Space between line and name, and between name and next line.
const GAPS: (i32, i32) = (8, 16);

impl Legend {
    /// Removes duplicate targets and sorts them in plan order.
    fn new<'a>(targets: impl Iterator<Item = (usize, &'a str)>, remarks: &[&str]) -> Self {
        let mut targets: Vec<_> = targets.map(|(number, name)| (number, LABEL.cut(name, WIDTH / 2))).collect();
        targets.sort();
        targets.dedup();
        Self { targets, remark: remarks.join("; ") }
    }

    fn step(&self) -> i32 {
        LEGEND_LINE + GAPS.0 + GAPS.1 + self.targets.iter().map(|(_, name)| LABEL.width(name)).max().unwrap_or(0)
    }

    fn columns(&self) -> i32 {
        ((WIDTH - 2 * MARGIN) / self.step()).max(1)
    }

    fn rows(&self) -> i32 {
        (self.targets.len() as i32 + self.columns() - 1) / self.columns()
    }

    fn height(&self) -> i32 {
        LEGEND_ROW * (self.rows() + i32::from(!self.remark.is_empty()))
    }

    /// Draws the legend; `top` is the middle of its first row.
    fn draw(&self, area: &Area, top: i32) -> Drawn {
        for (index, (number, name)) in (0..).zip(&self.targets) {
            let (x, y) = (MARGIN + index % self.columns() * self.step(), top + index / self.columns() * LEGEND_ROW);
            line(area, (x, y), (x + LEGEND_LINE, y), colour(*number), 2)?;
            marker(area, *number, (x + LEGEND_LINE / 2, y), RADIUS, false)?;
            text(area, (x + LEGEND_LINE + GAPS.0, y), name, LABEL, HPos::Left)?;
        }
        if self.remark.is_empty() {
            return Ok(());
        }
        text(area, (MARGIN, top + self.rows() * LEGEND_ROW), &self.remark, FAINT, HPos::Left)
    }
}
