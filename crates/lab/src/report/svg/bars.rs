//! Drawing of bar charts: names at the left, values at the end of the bars.

use super::{Area, Drawn, FAINT, GRID, HEADING, HPos, INK, LABEL, LINE, MARGIN, WIDTH, colour, line, marker, text};
use crate::report::charts::{Bar, Bars, Group, Metric, Scale};
use plotters::prelude::{Color, Rectangle};

const ROW: i32 = 24;
const BAR: i32 = 14;
const HEADING_HEIGHT: i32 = 26;
const GAP: i32 = 8;
const AXIS_HEIGHT: i32 = 26;
const UNIT_GAP: i32 = 26;

pub fn height(bars: &Bars) -> i32 {
    bars.groups.iter().map(group_height).sum::<i32>() + AXIS_HEIGHT
}

pub fn draw(bars: &Bars, area: &Area, top: i32) -> Drawn {
    let scale = bars.scale();
    let names = bars.bars().map(|bar| LABEL.width(&bar.name)).max().unwrap_or(0).min(WIDTH / 4);
    let labels = bars.bars().map(|bar| LABEL.width(&bar.label)).max().unwrap_or(0).min(WIDTH / 3);
    // The unit follows the last tick label, half of which lies outside the frame.
    let labels = labels.max(FAINT.width(&bars.metric.unit(&scale)) + UNIT_GAP);
    let frame = Frame { area, scale, left: MARGIN + names + 10, right: WIDTH - MARGIN - labels - 10 };
    frame.axis(bars.metric, top + height(bars) - AXIS_HEIGHT)?;
    let mut y = top;
    for group in &bars.groups {
        draw_group(group, &frame, y, names)?;
        y += group_height(group);
    }
    Ok(())
}

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
            text(self.area, (x, bottom + 11), &metric.tick(&self.scale, *tick), FAINT, HPos::Center)?;
        }
        text(self.area, (self.right + UNIT_GAP, bottom + 11), &metric.unit(&self.scale), FAINT, HPos::Left)
    }
}

fn group_height(group: &Group) -> i32 {
    let heading = if group.heading.is_empty() { 0 } else { HEADING_HEIGHT };
    heading + group.bars.len() as i32 * ROW + GAP
}

fn draw_group(group: &Group, frame: &Frame, top: i32, names: i32) -> Drawn {
    let mut y = top;
    if !group.heading.is_empty() {
        let heading = HEADING.cut(&group.heading, WIDTH - 2 * MARGIN);
        text(frame.area, (MARGIN, y + HEADING_HEIGHT / 2), &heading, HEADING, HPos::Left)?;
        y += HEADING_HEIGHT;
    }
    let bottom = y + group.bars.len() as i32 * ROW;
    for tick in &frame.scale.ticks {
        let x = frame.place(*tick);
        line(frame.area, (x, y), (x, bottom), GRID, 1)?;
    }
    line(frame.area, (frame.left, y), (frame.left, bottom), LINE, 1)?;
    for bar in &group.bars {
        let name = LABEL.cut(&bar.name, names);
        text(frame.area, (frame.left - 8, y + ROW / 2), &name, LABEL, HPos::Right)?;
        draw_bar(bar, frame, y + ROW / 2)?;
        y += ROW;
    }
    Ok(())
}

fn draw_bar(bar: &Bar, frame: &Frame, y: i32) -> Drawn {
    let room = WIDTH - MARGIN - frame.right - 10;
    let (area, own) = (frame.area, colour(bar.number));
    let Some(value) = bar.value else { return text(area, (frame.left + 8, y), &bar.label, FAINT, HPos::Left) };
    // A logarithmic scale has no zero: only bars between two figures use one.
    let from = bar.from.map_or(frame.left, |from| frame.place(from));
    let end = frame.place(value).max(from + 1);
    let half = if bar.from.is_some() { BAR / 4 } else { BAR / 2 };
    let body = [(from, y - half), (end, y + half)];
    let fill = if bar.is_trusted { own.to_rgba() } else { own.mix(0.25) };
    area.draw(&Rectangle::new(body, fill.filled()))?;
    if !bar.is_trusted {
        area.draw(&Rectangle::new(body, own.stroke_width(1)))?;
    }
    if bar.from.is_some() {
        marker(area, bar.number, (from, y), 5, !bar.is_trusted)?;
    }
    let mut after = end;
    if let Some((low, high)) = bar.range {
        let (low, high) = (frame.place(low), frame.place(high));
        after = after.max(high);
        if low != high {
            line(area, (low, y), (high, y), INK, 1)?;
            line(area, (low, y - 3), (low, y + 3), INK, 1)?;
            line(area, (high, y - 3), (high, y + 3), INK, 1)?;
        }
    }
    text(area, (after + 8, y), &LABEL.cut(&bar.label, room + frame.right - after), LABEL, HPos::Left)
}
