//! Drawing of a timeline: latency with its limit above, the allotment of the jobs with the decisions below.

use super::{Area, Drawn, FAINT, GRID, HEADING, HPos, LABEL, LINE, MARGIN, RADIUS, WIDTH, colour, line, marker, text};
use crate::group::distinct;
use crate::report::charts::Scale;
use crate::report::timeline::Timeline;
use brunt_results::units::trimmed;
use plotters::prelude::{Color, PathElement};

const HEADING_HEIGHT: i32 = 26;
/// Between the plots.
const GAP: i32 = 14;
const PLOT: i32 = 170;
const AXIS_HEIGHT: i32 = 40;
const LEGEND: i32 = 24;
const LEFT: i32 = MARGIN + 48;
const RIGHT: i32 = WIDTH - MARGIN;
/// Points of a line; more would be closer than pixels.
const MOST_POINTS: usize = 1500;

pub fn height() -> i32 {
    2 * (HEADING_HEIGHT + PLOT) + GAP + AXIS_HEIGHT + LEGEND
}

pub fn draw(timeline: &Timeline, area: &Area, top: i32) -> Drawn {
    let points = || timeline.cores.iter().chain(&timeline.latency_ms);
    let end = points().map(|(at, _)| *at).fold(0.0, f64::max);
    let time = Scale::from_zero(end);
    let latencies: Vec<f64> = timeline.latency_ms.iter().map(|(_, ms)| *ms).chain([timeline.limit_ms]).collect();
    let allotted = timeline.cores.iter().map(|(_, cores)| *cores).fold(0.0, f64::max);
    let latency = Plot { area, time: &time, scale: Scale::fitting(&latencies), top: top + HEADING_HEIGHT };
    let cores =
        Plot { area, time: &time, scale: Scale::from_zero(allotted), top: top + 2 * HEADING_HEIGHT + PLOT + GAP };
    let log = if latency.scale.is_log { ", log scale" } else { "" };
    latency.frame(&format!("{} of the service", timeline.figure), &format!("ms{log}; dashed: the limit"))?;
    latency.limit(timeline.limit_ms)?;
    latency.steps(&timeline.latency_ms, 1)?;
    cores.frame("BE allotment", "cores")?;
    cores.steps(&timeline.cores, 0)?;
    let reasons = distinct(timeline.decisions.iter().map(|(_, reason)| reason.as_str()));
    for (at, reason) in &timeline.decisions {
        let number = 1 + reasons.iter().position(|known| known == reason).unwrap_or(0);
        let reached = timeline.cores.iter().take_while(|(since, _)| since <= at).last();
        let place = (cores.x(*at), cores.y(reached.map_or(0.0, |(_, cores)| *cores)));
        marker(area, number, place, RADIUS, false)?;
    }
    let below = cores.top + PLOT;
    for tick in &time.ticks {
        text(area, (cores.x(*tick), below + 11), &trimmed(*tick), FAINT, HPos::Center)?;
    }
    text(area, ((LEFT + RIGHT) / 2, below + 28), "seconds", FAINT, HPos::Center)?;
    let mut x = MARGIN;
    for (number, reason) in (1..).zip(reasons) {
        marker(area, number, (x + RADIUS, below + AXIS_HEIGHT + 8), RADIUS, false)?;
        text(area, (x + 16, below + AXIS_HEIGHT + 8), reason, LABEL, HPos::Left)?;
        x += 16 + LABEL.width(reason) + 20;
    }
    Ok(())
}

struct Plot<'a, 'b> {
    area: &'a Area<'b>,
    time: &'a Scale,
    scale: Scale,
    top: i32,
}

impl Plot<'_, '_> {
    fn x(&self, at: f64) -> i32 {
        LEFT + (self.time.place(at) * f64::from(RIGHT - LEFT)).round() as i32
    }

    fn y(&self, value: f64) -> i32 {
        self.top + PLOT - (self.scale.place(value) * f64::from(PLOT)).round() as i32
    }

    fn frame(&self, heading: &str, unit: &str) -> Drawn {
        let above = self.top - HEADING_HEIGHT / 2;
        text(self.area, (MARGIN, above), heading, HEADING, HPos::Left)?;
        text(self.area, (MARGIN + HEADING.width(heading) + 8, above), unit, FAINT, HPos::Left)?;
        for tick in &self.scale.ticks {
            let y = self.y(*tick);
            line(self.area, (LEFT, y), (RIGHT, y), GRID, 1)?;
            text(self.area, (LEFT - 8, y), &trimmed(*tick), FAINT, HPos::Right)?;
        }
        line(self.area, (LEFT, self.top), (LEFT, self.top + PLOT), LINE, 1)
    }

    fn limit(&self, value: f64) -> Drawn {
        let y = self.y(value);
        (LEFT..RIGHT - 6).step_by(10).try_for_each(|x| line(self.area, (x, y), (x + 6, y), LINE, 2))
    }

    /// A line that keeps each value until the next.
    fn steps(&self, points: &[(f64, f64)], number: usize) -> Drawn {
        let every = points.len().div_ceil(MOST_POINTS).max(1);
        let mut path: Vec<(i32, i32)> = Vec::new();
        for (at, value) in points.iter().step_by(every).chain(points.last()) {
            let (x, y) = (self.x(*at), self.y(*value));
            path.extend(path.last().map(|last| (x, last.1)));
            path.push((x, y));
        }
        path.dedup();
        match path.len() {
            0 | 1 => Ok(()),
            _ => self.area.draw(&PathElement::new(path, colour(number).stroke_width(2))),
        }
    }
}
