//! The result of a search as a curve.

use super::step::{SloOutcome, Step};
use super::text::closing;
use super::{SearchReport, SearchResult};
use crate::report::{Knee, KneePoint, Mark};
use std::io;

/// The curve as an SVG file.
pub fn curve(found: &SearchReport) -> io::Result<String> {
    let (figure, bound_us) = match &found.bound {
        Some((figure, bound)) => (figure.clone(), Some(*bound)),
        None => ("p99".to_owned(), None),
    };
    let line = if bound_us.is_some() { "; orange line: the bound" } else { "" };
    let mut points: Vec<KneePoint> = found.steps.iter().map(|step| point(step, bound_us.is_some())).collect();
    points.sort_by(|a, b| a.offered.total_cmp(&b.offered));
    let interval = match found.end {
        SearchResult::Holds { rate, breaks } => (Some(rate), Some(breaks)),
        SearchResult::HoldsAtMost { rate } => (Some(rate), None),
        SearchResult::GeneratorLimited { rate, limited } => (rate, Some(limited)),
        SearchResult::Never { lowest } => (None, Some(lowest)),
        SearchResult::Undecided { rate, breaks } => (rate, breaks),
    };
    let title = format!("{}: the highest rate at which {} holds", found.url, found.slo);
    let footer = "blue circle: holds; orange square: breaks; hollow: unclear; band: where the limit lies";
    Knee { figure, bound_us, points, interval }.svg(&title, &format!("{}{line}", closing(found)), footer)
}

fn point(step: &Step, is_bounded: bool) -> KneePoint {
    KneePoint {
        offered: step.rate,
        answered: step.answered,
        time_us: if is_bounded { step.slo_us } else { step.p99_us },
        mark: match step.outcome {
            SloOutcome::Holds => Mark::Holds,
            SloOutcome::Breaks => Mark::Breaks,
            SloOutcome::GeneratorLimited | SloOutcome::Unclear => Mark::Unclear,
        },
    }
}
