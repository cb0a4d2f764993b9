//! Figures where nothing is swept that a line could follow: a bar for each target, grouped by load, the value at its end.

use super::{
    metric::Metric,
    palette,
    scale::Scale,
    svg::{self, Area, Drawn, FAINT, GRID, HEADING, LABEL, LINE, MARGIN, Side, WIDTH},
};
use plotters::prelude::{Color, Rectangle, ShapeStyle};

/// A chart of bars.
#[derive(Debug, Clone, PartialEq)]
pub struct Bars {
    /// What is shown.
    pub metric: Metric,
    /// In the order of the table.
    pub groups: Vec<Group>,
}

/// The targets under one load.
#[derive(Debug, Clone, PartialEq)]
pub struct Group {
    /// The load, where there are several; else empty.
    pub heading: String,
    /// In the order of the plan.
    pub bars: Vec<Bar>,
}

/// A target.
#[derive(Debug, Clone, PartialEq)]
pub struct Bar {
    /// Of the target.
    pub number: usize,
    /// Of the target.
    pub name: String,
    /// Where the bar begins, for a bar that spans two figures; else at zero.
    pub from: Option<f64>,
    /// Where it ends.
    pub value: Option<f64>,
    /// Lowest and highest repeat.
    pub range: Option<(f64, f64)>,
    /// What stands at its end.
    pub label: String,
    /// Whether most repeats may be believed.
    pub is_trusted: bool,
}

const ROW: i32 = 24;
const BAR: i32 = 14;
const HEADING_HEIGHT: i32 = 26;
const GAP: i32 = 8;
const AXIS_HEIGHT: i32 = 26;
const UNIT_GAP: i32 = 26;

impl Bars {
    /// All bars, in order.
    pub fn bars(&self) -> impl Iterator<Item = &Bar> {
        self.groups.iter().flat_map(|group| &group.bars)
    }

    /// The value of each bar, for those who do not see them.
    pub fn words(&self) -> String {
        let of = |group: &Group| {
            let heading = if group.heading.is_empty() { String::new() } else { format!("{}: ", group.heading) };
            let bars: Vec<String> = group.bars.iter().map(|bar| format!("{} {}", bar.name, bar.label)).collect();
            format!("{heading}{}.", bars.join("; "))
        };
        self.groups.iter().map(of).collect::<Vec<_>>().join(" ")
    }

    /// Pixels that the body takes.
    pub fn height(&self) -> i32 {
        self.groups.iter().map(Group::height).sum::<i32>() + AXIS_HEIGHT
    }

    /// Draws everything below `top`.
    pub fn draw(&self, area: &Area, top: i32) -> Drawn {
        let reached = |bar: &Bar| [bar.from, bar.value, bar.range.map(|range| range.1)];
        let scale = self.metric.scale(&self.bars().flat_map(reached).flatten().collect::<Vec<_>>());
        let names = self.bars().map(|bar| LABEL.width(&bar.name)).max().unwrap_or(0).min(WIDTH / 4);
        let labels = self.bars().map(|bar| LABEL.width(&bar.label)).max().unwrap_or(0).min(WIDTH / 3);
        // The unit stands behind the last tick, half of which is beyond the frame.
        let labels = labels.max(FAINT.width(&self.metric.unit(&scale)) + UNIT_GAP);
        let frame = Frame { area, scale, left: MARGIN + names + 10, right: WIDTH - MARGIN - labels - 10 };

        let bottom = top + self.height() - AXIS_HEIGHT;
        frame.axis(self.metric, bottom)?;
        let mut y = top;
        for group in &self.groups {
            group.draw(&frame, y, names)?;
            y += group.height();
        }
        Ok(())
    }
}

/// The part of the page between names and labels.
struct Frame<'a, 'b> {
    area: &'a Area<'b>,
    scale: Scale,
    left: i32,
    right: i32,
}

impl Frame<'_, '_> {
    fn place(&self, value: f64) -> i32 {
        self.left + (self.scale.place(value) * f64::from(self.right - self.left)).round() as i32
    }

    fn axis(&self, metric: Metric, bottom: i32) -> Drawn {
        for tick in &self.scale.ticks {
            let x = self.place(*tick);
            svg::text(self.area, (x, bottom + 11), &metric.tick(&self.scale, *tick), FAINT, Side::Middle)?;
        }
        svg::text(self.area, (self.right + UNIT_GAP, bottom + 11), &metric.unit(&self.scale), FAINT, Side::Left)
    }
}

impl Group {
    fn height(&self) -> i32 {
        let heading = if self.heading.is_empty() { 0 } else { HEADING_HEIGHT };
        heading + self.bars.len() as i32 * ROW + GAP
    }

    fn draw(&self, frame: &Frame, top: i32, names: i32) -> Drawn {
        let mut y = top;
        if !self.heading.is_empty() {
            let heading = HEADING.cut(&self.heading, WIDTH - 2 * MARGIN);
            svg::text(frame.area, (MARGIN, y + HEADING_HEIGHT / 2), &heading, HEADING, Side::Left)?;
            y += HEADING_HEIGHT;
        }
        let bottom = y + self.bars.len() as i32 * ROW;
        for tick in &frame.scale.ticks {
            let x = frame.place(*tick);
            svg::line(frame.area, (x, y), (x, bottom), GRID, 1)?;
        }
        svg::line(frame.area, (frame.left, y), (frame.left, bottom), LINE, 1)?;
        for bar in &self.bars {
            let name = LABEL.cut(&bar.name, names);
            svg::text(frame.area, (frame.left - 8, y + ROW / 2), &name, LABEL, Side::Right)?;
            bar.draw(frame, y + ROW / 2)?;
            y += ROW;
        }
        Ok(())
    }
}

impl Bar {
    fn draw(&self, frame: &Frame, y: i32) -> Drawn {
        let room = WIDTH - MARGIN - frame.right - 10;
        let (area, colour) = (frame.area, palette::colour(self.number));
        let Some(value) = self.value else {
            return svg::text(area, (frame.left + 8, y), &self.label, FAINT, Side::Left);
        };
        // On a logarithmic scale there is no zero, and a bar that begins at the frame would have no meaning.
        let from = self.from.map_or(frame.left, |from| frame.place(from));
        let end = frame.place(value).max(from + 1);
        let half = if self.from.is_some() { BAR / 4 } else { BAR / 2 };
        let body = [(from, y - half), (end, y + half)];
        let ground = if self.is_trusted { colour.to_rgba() } else { colour.mix(0.25) };
        area.draw(&Rectangle::new(body, ShapeStyle::from(ground).filled()))?;
        if !self.is_trusted {
            area.draw(&Rectangle::new(body, ShapeStyle::from(colour)))?;
        }
        if self.from.is_some() {
            palette::marker(area, self.number, (from, y), 5, !self.is_trusted)?;
        }
        let mut after = end;
        if let Some((low, high)) = self.range {
            let (low, high) = (frame.place(low), frame.place(high));
            after = after.max(high);
            if low != high {
                svg::line(area, (low, y), (high, y), svg::INK, 1)?;
                svg::line(area, (low, y - 3), (low, y + 3), svg::INK, 1)?;
                svg::line(area, (high, y - 3), (high, y + 3), svg::INK, 1)?;
            }
        }
        svg::text(area, (after + 8, y), &LABEL.cut(&self.label, room + frame.right - after), LABEL, Side::Left)
    }
}
