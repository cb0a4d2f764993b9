//! CPU time a request against p99 with the frontier of each rate, and below CPU over the rate with the lines.

use super::plot::Plot;
use super::{
    Area, Drawn, HEADING, HPos, LABEL, LINE, MARGIN, RADIUS, SMALL, Titles, WIDTH, colour, frame, line, marker, text,
};
use crate::format::time;
use crate::report::charts::{CostChart, CostMark, Scale};
use brunt_results::Rate;
use plotters::prelude::{Color, PathElement, RGBColor};
use std::io;

const HEADING_HEIGHT: i32 = 26;
const PLOT_HEIGHT: i32 = 240;
const AXIS_HEIGHT: i32 = 50;
const LEGEND_HEIGHT: i32 = 20;
/// Distance of the outermost points from the frame.
const INSET: i32 = 24;

impl CostChart {
    /// A file with both plots.
    pub fn svg(&self, title: &str, subtitle: &str, footer: &str) -> io::Result<String> {
        let titles = Titles { title, subtitle, footer, description: self.description() };
        frame(&titles, height(self), |area, top| draw(self, area, top))
    }
}

fn height(chart: &CostChart) -> i32 {
    2 * (HEADING_HEIGHT + PLOT_HEIGHT + AXIS_HEIGHT) + LEGEND_HEIGHT * chart.curves.len() as i32
}

fn draw(chart: &CostChart, area: &Area, top: i32) -> Drawn {
    let mut y = top + 10;
    for (number, curve) in chart.curves.iter().enumerate() {
        marker(area, number, (MARGIN + RADIUS, y), RADIUS, false)?;
        text(area, (MARGIN + 3 * RADIUS + 2, y), &LABEL.cut(&curve.name, WIDTH - 3 * MARGIN), LABEL, HPos::Left)?;
        y += LEGEND_HEIGHT;
    }
    let below = y - 10 + HEADING_HEIGHT + PLOT_HEIGHT + AXIS_HEIGHT;
    frontier(chart, area, y - 10)?;
    lines(chart, area, below)
}

/// p99 over CPU time a request.
fn frontier(chart: &CostChart, area: &Area, top: i32) -> Drawn {
    let marks = || chart.curves.iter().flat_map(|curve| &curve.marks);
    let costs = Scale::fitting(&marks().map(|mark| mark.cost_us).collect::<Vec<_>>());
    let times = Scale::fitting(&marks().filter_map(|mark| mark.p99_us).collect::<Vec<_>>());
    let plot = plot(top, &costs, &times);
    text(area, (MARGIN, top + 10), "p99, over CPU time a request", HEADING, HPos::Left)?;
    plot.ground(area, |us| time(Some(us)))?;
    for places in chart.frontiers() {
        area.draw(&PathElement::new(steps(&plot, &places), LINE.stroke_width(2)))?;
    }
    for (number, curve) in chart.curves.iter().enumerate() {
        let place = |mark: &CostMark| Some(plot.at(mark.cost_us, mark.p99_us?));
        let path: Vec<(i32, i32)> = curve.marks.iter().filter_map(place).collect();
        area.draw(&PathElement::new(path, faint(colour(number)).stroke_width(1)))?;
        for mark in &curve.marks {
            if let Some((x, y)) = place(mark) {
                marker(area, number, (x, y), RADIUS, !mark.on_frontier)?;
                text(area, (x + 8, y - 8), &format!("{}/s", Rate(mark.rate)), SMALL, HPos::Left)?;
            }
        }
    }
    plot.axis(area, |us| time(Some(us)), "CPU time a request")
}

/// CPU over the rate.
fn lines(chart: &CostChart, area: &Area, top: i32) -> Drawn {
    let marks = || chart.curves.iter().flat_map(|curve| &curve.marks);
    let most = |of: fn(&CostMark) -> f64| Scale::from_zero(marks().map(of).fold(0.0, f64::max));
    let (rates, shares) = (most(|mark| mark.rate), most(|mark| mark.cpu_percent));
    let plot = plot(top, &rates, &shares);
    text(area, (MARGIN, top + 10), "CPU, over the rate", HEADING, HPos::Left)?;
    plot.ground(area, |percent| format!("{percent} %"))?;
    for (number, curve) in chart.curves.iter().enumerate() {
        if let (Some((standing, marginal)), Some(last)) = (curve.line, curve.marks.last()) {
            let at = |rate: f64| plot.at(rate, standing + marginal * rate);
            line(area, at(0.0), at(last.rate), colour(number), 1)?;
        }
        for mark in &curve.marks {
            marker(area, number, plot.at(mark.rate, mark.cpu_percent), RADIUS, false)?;
        }
    }
    plot.axis(area, |rate| Rate(rate).to_string(), "requests a second")
}

/// Nearer to white.
fn faint(colour: RGBColor) -> RGBColor {
    let part = |part: u8| (u16::from(part) / 2 + 127) as u8;
    RGBColor(part(colour.0), part(colour.1), part(colour.2))
}

fn plot<'a>(top: i32, x: &'a Scale, y: &'a Scale) -> Plot<'a> {
    Plot { top: top + HEADING_HEIGHT, height: PLOT_HEIGHT, inset: INSET, x, y }
}

/// A staircase through places in the order of `x`: at a cost the p99 is that of the last place which costs no more.
fn steps(plot: &Plot, places: &[(f64, f64)]) -> Vec<(i32, i32)> {
    let mut path: Vec<(i32, i32)> = Vec::new();
    for (x, y) in places {
        let place = plot.at(*x, *y);
        path.extend(path.last().map(|before| (place.0, before.1)));
        path.push(place);
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::charts::CostCurve;
    use proptest::prelude::*;

    fn mark(rate: f64, cost_us: f64, p99_us: f64, on_frontier: bool) -> CostMark {
        CostMark { rate, cost_us, p99_us: Some(p99_us), cpu_percent: cost_us * rate / 1e4, on_frontier }
    }

    #[test]
    fn the_frontier_of_a_rate_goes_through_its_targets_by_cost() {
        let curve = |name: &str, marks: &[CostMark]| CostCurve { name: name.into(), marks: marks.into(), line: None };
        let curves = vec![
            curve("dear", &[mark(1e3, 30.0, 100.0, true), mark(5e3, 20.0, 100.0, true)]),
            curve("cheap", &[mark(1e3, 10.0, 900.0, true), mark(5e3, 8.0, 90.0, false)]),
            curve("neither", &[mark(1e3, 35.0, 950.0, false), mark(9e3, 35.0, 950.0, true)]),
        ];
        let chart = CostChart { curves };
        assert_eq!(chart.frontiers(), [[(10.0, 900.0), (30.0, 100.0)]]);
        let (x, y) = (Scale::fitting(&[10.0, 30.0]), Scale::fitting(&[100.0, 900.0]));
        let plot = plot(0, &x, &y);
        let [first, last] = [plot.at(10.0, 900.0), plot.at(30.0, 100.0)];
        assert_eq!(steps(&plot, &chart.frontiers()[0]), [first, (last.0, first.1), last]);
    }

    proptest! {
        #[test]
        fn any_figures_make_a_well_formed_chart(
            figures in proptest::collection::vec((1e-2f64..1e7, 1e-3f64..1e9, proptest::option::of(0f64..1e9)), 0..20),
            line in proptest::option::of((-1f64..1e3, -1f64..1e3)),
        ) {
            let marks: Vec<CostMark> = figures.iter().map(|(rate, cost_us, p99_us)| CostMark {
                rate: *rate, cost_us: *cost_us, p99_us: *p99_us, cpu_percent: rate * cost_us / 1e4, on_frontier: *rate > 9.0,
            }).collect();
            let curves = marks.chunks(3).map(|marks| CostCurve { name: "<a>".into(), marks: marks.into(), line }).collect();
            let svg = CostChart { curves }.svg("<cost>", "a & b", "c").unwrap();
            prop_assert!(svg.starts_with("<svg role=\"img\"") && svg.trim_end().ends_with("</svg>"));
            prop_assert!(svg.contains("&lt;cost&gt;") && !svg.contains("NaN"));
        }
    }
}
