//! A load so far as JSON, for the page of `brunt ui`: the words of the screen, and the course in points.

use super::{model::Model, points::Point, rows};
use serde_json::{Value, json};

/// Most points of the course: what a page of 1440 px can show. A browser keeps those of the last snapshot only.
const MOST_POINTS: usize = 400;

pub fn snapshot(model: &Model) -> Value {
    let (verdict, issues) = rows::verdict(model);
    let points = model.points.thinned(MOST_POINTS);
    let each = |of: fn(&Point) -> Option<f64>| points.iter().map(of).map(rounded).collect::<Vec<_>>();
    json!({
        "headline": rows::headline(model),
        "state": rows::state(model),
        "ended": model.is_ended(),
        "at_s": model.points.end_s(),
        "end_s": model.end_s(),
        "verdict": verdict,
        "kind": model.verdict().map(|verdict| verdict.kind.word()),
        "issues": issues,
        "rows": rows::rows(model),
        "points": {
            "from_s": each(|point| Some(point.from_s)),
            "to_s": each(|point| Some(point.to_s)),
            "warmup": points.iter().map(|point| point.warmup).collect::<Vec<_>>(),
            "offered": each(|point| point.per_second(point.offered)),
            "answered": each(|point| point.per_second(point.completed)),
            "p50": each(|point| point.p50_us),
            "p99": each(|point| point.p99_us),
            "p999": each(|point| point.p999_us),
        },
    })
}

/// With three decimals.
fn rounded(value: Option<f64>) -> Option<f64> {
    value.map(|value| (value * 1e3).round() / 1e3)
}
