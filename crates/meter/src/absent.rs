//! Reasons for absent figures of one part of the result, such as `server`, by their names there.

use serde::Serialize;
use std::collections::BTreeMap;

/// The reasons of figures that are `null` in `value`, where `why` has one.
pub(crate) fn reasons(
    part: &str,
    value: &impl Serialize,
    why: impl Fn(&str) -> Option<String>,
) -> BTreeMap<String, String> {
    let value = serde_json::to_value(value).unwrap_or_default();
    let absent = value.as_object().into_iter().flatten().filter(|(_, value)| value.is_null());
    absent.filter_map(|(figure, _)| Some((format!("{part}.{figure}"), why(figure)?))).collect()
}

/// Panics unless each figure of the part is either present or has a reason.
#[cfg(test)]
#[track_caller]
pub(crate) fn check(name: &str, part: &impl std::fmt::Debug, absent: &BTreeMap<String, String>) {
    // Reads the debug output, so that new fields are included.
    let text = format!("{part:#?}");
    let fields = text.lines().filter(|line| line.starts_with("    ") && !line.starts_with("     "));
    for (figure, value) in fields.filter_map(|line| line.trim().split_once(": ")) {
        assert_eq!(value == "None,", absent.contains_key(&format!("{name}.{figure}")), "{figure} = {value}");
    }
}
