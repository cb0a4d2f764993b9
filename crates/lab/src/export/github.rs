//! Input of github-action-benchmark: one figure of each cell. Its tool is `customSmallerIsBetter`, for `rate`
//! `customBiggerIsBetter`.

use super::estimate::{self, Estimate};
use super::trials::Trials;
use brunt_results::figure;
use serde_json::{Value, json};

/// `None` if no trial has that figure.
pub(super) fn value(trials: &Trials, tag: &str, figure: &str) -> Option<Value> {
    let unit = figure::find(figure)?.unit.word();
    let entries = trials.groups.iter().filter_map(|group| {
        let Estimate { median, low, high } = estimate::of(group, |result| estimate::figure(result, tag, figure))?;
        let repeats = format!("{} repeats", group.trials.len());
        Some(json!({
            "name": format!("{}: {figure}", group.name()),
            "unit": unit,
            "value": median,
            "range": format!("{low:.1}..{high:.1}"),
            "extra": repeats,
        }))
    });
    let entries: Vec<Value> = entries.collect();
    (!entries.is_empty()).then_some(Value::Array(entries))
}
