//! The page for scrapers: Prometheus' text format 0.0.4.

use super::figures::{COUNTERS, RESPONSE, gauges};
use super::interval::{Interval, Totals};
use brunt_lab::export::exposition::{family, histogram, label};
use std::fmt::Write as _;

pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Counts since the load began, and the figures of the last interval. Nothing before the end of the first.
pub fn text(totals: &Totals, url: &str) -> String {
    let (mut text, mut lines) = (String::new(), String::new());
    let url = label("url", url)[1..].to_owned();
    let of_phase = |phase: &Interval| url.clone() + &label("phase", phase.phase());
    let own = |with: Option<(&str, &str)>| with.map_or(String::new(), |(name, value)| label(name, value));
    for phase in &totals.phases {
        histogram(&mut lines, RESPONSE.name, &of_phase(phase), &phase.response.counts, phase.response.sum_s);
    }
    family(&mut text, RESPONSE.name, "histogram", RESPONSE.help, &lines);
    for counter in &COUNTERS {
        lines.clear();
        for phase in &totals.phases {
            for (with, count) in (counter.values)(&phase.second) {
                let _ = writeln!(lines, "{}{{{}{}}} {count}", counter.name, of_phase(phase), own(with));
            }
        }
        family(&mut text, counter.name, "counter", counter.help, &lines);
    }
    for gauge in totals.last.iter().flat_map(gauges) {
        lines.clear();
        for (with, value) in gauge.values {
            let _ = writeln!(lines, "{}{{{url}{}}} {value}", gauge.name, own(with));
        }
        family(&mut text, gauge.name, "gauge", gauge.help, &lines);
    }
    text
}
