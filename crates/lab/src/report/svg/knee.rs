//! Curve of a search for the highest rate that meets an SLO: a response time and the answered rate over the offered rate, with
//! the bound and the interval of the result.

use super::{
    Area, Drawn, FAINT, FAINT_INK, GRID, HEADING, HPos, LINE, MARGIN, RADIUS, Titles, WIDTH, colour, frame, line,
    marker, text,
};
use crate::format::time;
use crate::report::charts::{Knee, Scale};
use crate::report::knee_point::{KneePoint, Mark};
use brunt_results::Rate;
use plotters::prelude::{Color, PathElement, Rectangle};
use std::io;

const HEADING_HEIGHT: i32 = 26;
const PLOT_HEIGHT: i32 = 210;
const GAP: i32 = 16;
const AXIS_HEIGHT: i32 = 44;
const LEGEND_HEIGHT: i32 = 20;
const LEFT: i32 = MARGIN + 62;
const RIGHT: i32 = WIDTH - MARGIN;
/// Distance of the outermost points from the frame.
const INSET: i32 = 14;

impl Knee {
    /// A file with the curve alone.
    pub fn svg(&self, title: &str, subtitle: &str, footer: &str) -> io::Result<String> {
        let titles = Titles { title, subtitle, footer, description: self.description() };
        frame(&titles, height(), |area, top| draw(self, area, top))
    }
}

pub(super) fn height() -> i32 {
    2 * (HEADING_HEIGHT + PLOT_HEIGHT) + GAP + AXIS_HEIGHT + LEGEND_HEIGHT
}

pub(super) fn draw(knee: &Knee, area: &Area, top: i32) -> Drawn {
    let rates = Scale::fitting(&knee.points.iter().map(|point| point.offered).collect::<Vec<_>>());
    let times = knee.points.iter().filter_map(|point| point.time_us).chain(knee.bound_us);
    let times = Scale::fitting(&times.collect::<Vec<_>>());
    let below = top + HEADING_HEIGHT + PLOT_HEIGHT + GAP;
    let latency = Plot { top: top + HEADING_HEIGHT, x: &rates, y: &times };
    text(area, (MARGIN, top + 10), &format!("{} response time", knee.figure), HEADING, HPos::Left)?;
    latency.ground(area, knee, |us| time(Some(us)))?;
    if let Some(bound) = knee.bound_us {
        let y = latency.y(bound);
        line(area, (LEFT, y), (RIGHT, y), colour(1), 1)?;
    }
    latency.series(area, &knee.points, |point| point.time_us)?;

    let answered: Vec<f64> = knee.points.iter().flat_map(|point| [point.answered, point.offered]).collect();
    let answered = Scale::fitting(&answered);
    let throughput = Plot { top: below + HEADING_HEIGHT, x: &rates, y: &answered };
    text(area, (MARGIN, below + 10), "answered requests/s; grey: offered", HEADING, HPos::Left)?;
    throughput.ground(area, knee, |rate| Rate(rate).to_string())?;
    let offered = knee.points.iter().map(|point| throughput.at(point.offered, point.offered));
    area.draw(&PathElement::new(offered.collect::<Vec<_>>(), LINE.stroke_width(1)))?;
    throughput.series(area, &knee.points, |point| Some(point.answered))?;
    throughput.axis(area)
}

/// A plot and its scales.
struct Plot<'a> {
    top: i32,
    x: &'a Scale,
    y: &'a Scale,
}

impl Plot<'_> {
    fn x(&self, rate: f64) -> i32 {
        let width = f64::from(RIGHT - LEFT - 2 * INSET);
        LEFT + INSET + (self.x.place(rate) * width).round() as i32
    }

    fn y(&self, value: f64) -> i32 {
        self.top + PLOT_HEIGHT - (self.y.place(value) * f64::from(PLOT_HEIGHT)).round() as i32
    }

    fn at(&self, rate: f64, value: f64) -> (i32, i32) {
        (self.x(rate), self.y(value))
    }

    /// The band of the result, horizontal lines and their labels.
    fn ground(&self, area: &Area, knee: &Knee, label: impl Fn(f64) -> String) -> Drawn {
        let bottom = self.top + PLOT_HEIGHT;
        if let (Some(low), Some(high)) = knee.interval {
            let (from, to) = (self.x(low), self.x(high).max(self.x(low) + 2));
            area.draw(&Rectangle::new([(from, self.top), (to, bottom)], FAINT_INK.mix(0.18).filled()))?;
        } else if let Some(one) = knee.interval.0.or(knee.interval.1) {
            line(area, (self.x(one), self.top), (self.x(one), bottom), FAINT_INK, 1)?;
        }
        for tick in &self.y.ticks {
            let y = self.y(*tick);
            line(area, (LEFT, y), (RIGHT, y), GRID, 1)?;
            let label = if *tick == 0.0 { "0".to_owned() } else { label(*tick) };
            text(area, (LEFT - 6, y), &label, FAINT, HPos::Right)?;
        }
        line(area, (LEFT, self.top), (LEFT, bottom), LINE, 1)?;
        line(area, (LEFT, bottom), (RIGHT, bottom), LINE, 1)
    }

    fn series(&self, area: &Area, points: &[KneePoint], of: impl Fn(&KneePoint) -> Option<f64>) -> Drawn {
        let placed: Vec<(&KneePoint, (i32, i32))> =
            points.iter().filter_map(|point| Some((point, self.at(point.offered, of(point)?)))).collect();
        let path: Vec<(i32, i32)> = placed.iter().map(|(_, place)| *place).collect();
        area.draw(&PathElement::new(path, FAINT_INK.stroke_width(1)))?;
        for (point, place) in placed {
            let number = usize::from(point.mark == Mark::Breaks);
            marker(area, number, place, RADIUS, point.mark == Mark::Unclear)?;
        }
        Ok(())
    }

    /// Labels of the rates, as many as fit.
    fn axis(&self, area: &Area) -> Drawn {
        let y = self.top + PLOT_HEIGHT + 12;
        let mut free = i32::MIN;
        for tick in &self.x.ticks {
            let (label, x) = (if *tick == 0.0 { "0".to_owned() } else { Rate(*tick).to_string() }, self.x(*tick));
            if x - FAINT.width(&label) / 2 > free {
                text(area, (x, y), &label, FAINT, HPos::Center)?;
                free = x + FAINT.width(&label) / 2 + 6;
            }
        }
        let scale = if self.x.is_log { " (log scale)" } else { "" };
        text(area, ((LEFT + RIGHT) / 2, y + 18), &format!("offered rate, requests/s{scale}"), FAINT, HPos::Center)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_figures_make_a_well_formed_chart(
            rates in proptest::collection::vec(1e-2f64..1e7, 0..20),
            times in proptest::collection::vec(proptest::option::of(0f64..1e9), 20),
            bound_us in proptest::option::of(1e-3f64..1e9),
            low in proptest::option::of(1e-2f64..1e7),
        ) {
            let mut rates = rates;
            rates.sort_by(f64::total_cmp);
            let marks = [Mark::Holds, Mark::Unclear, Mark::Breaks];
            let points = rates.iter().zip(&times).enumerate().map(|(index, (offered, time_us))| KneePoint {
                offered: *offered, answered: offered * 0.9, time_us: *time_us, mark: marks[index % 3],
            });
            let knee = Knee {
                figure: "p99".into(), bound_us,
                points: points.collect(), interval: (low, low.map(|low| low * 1.03)),
            };
            let svg = knee.svg("<p99>", "a & b", "c").unwrap();
            prop_assert!(svg.starts_with("<svg role=\"img\"") && svg.trim_end().ends_with("</svg>"));
            prop_assert!(svg.contains("&lt;p99&gt;") && !svg.contains("NaN"));
        }
    }
}
