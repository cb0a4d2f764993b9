//! Curve of a search for the highest rate that meets an SLO: a response time and the answered rate over the offered rate, with
//! the bound and the interval of the result.

use super::plot::{LEFT, Plot, RIGHT};
use super::{Area, Drawn, FAINT_INK, HEADING, HPos, LINE, MARGIN, RADIUS, Titles, colour, frame, line, marker, text};
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
    let plot = |top, x, y| Plot { top, height: PLOT_HEIGHT, inset: INSET, x, y };
    let latency = plot(top + HEADING_HEIGHT, &rates, &times);
    text(area, (MARGIN, top + 10), &format!("{} response time", knee.figure), HEADING, HPos::Left)?;
    band(&latency, area, knee)?;
    latency.ground(area, |us| time(Some(us)))?;
    if let Some(bound) = knee.bound_us {
        let y = latency.y(bound);
        line(area, (LEFT, y), (RIGHT, y), colour(1), 1)?;
    }
    series(&latency, area, &knee.points, |point| point.time_us)?;

    let answered: Vec<f64> = knee.points.iter().flat_map(|point| [point.answered, point.offered]).collect();
    let answered = Scale::fitting(&answered);
    let throughput = plot(below + HEADING_HEIGHT, &rates, &answered);
    text(area, (MARGIN, below + 10), "answered requests/s; grey: offered", HEADING, HPos::Left)?;
    band(&throughput, area, knee)?;
    throughput.ground(area, |rate| Rate(rate).to_string())?;
    let offered = knee.points.iter().map(|point| throughput.at(point.offered, point.offered));
    area.draw(&PathElement::new(offered.collect::<Vec<_>>(), LINE.stroke_width(1)))?;
    series(&throughput, area, &knee.points, |point| Some(point.answered))?;
    throughput.axis(area, |rate| Rate(rate).to_string(), "offered rate, requests/s")
}

/// The interval of the result, behind everything else.
fn band(plot: &Plot, area: &Area, knee: &Knee) -> Drawn {
    let (top, bottom) = (plot.top, plot.bottom());
    if let (Some(low), Some(high)) = knee.interval {
        let (from, to) = (plot.x(low), plot.x(high).max(plot.x(low) + 2));
        area.draw(&Rectangle::new([(from, top), (to, bottom)], FAINT_INK.mix(0.18).filled()))?;
    } else if let Some(one) = knee.interval.0.or(knee.interval.1) {
        line(area, (plot.x(one), top), (plot.x(one), bottom), FAINT_INK, 1)?;
    }
    Ok(())
}

fn series(plot: &Plot, area: &Area, points: &[KneePoint], of: impl Fn(&KneePoint) -> Option<f64>) -> Drawn {
    let placed: Vec<(&KneePoint, (i32, i32))> =
        points.iter().filter_map(|point| Some((point, plot.at(point.offered, of(point)?)))).collect();
    let path: Vec<(i32, i32)> = placed.iter().map(|(_, place)| *place).collect();
    area.draw(&PathElement::new(path, FAINT_INK.stroke_width(1)))?;
    for (point, place) in placed {
        let number = usize::from(point.mark == Mark::Breaks);
        marker(area, number, place, RADIUS, point.mark == Mark::Unclear)?;
    }
    Ok(())
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
