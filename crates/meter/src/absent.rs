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
pub(crate) fn check(part: &str, value: &impl Serialize, absent: &BTreeMap<String, String>) {
    let expected = reasons(part, value, |_| Some(String::new()));
    assert_eq!(expected.keys().collect::<Vec<_>>(), absent.keys().collect::<Vec<_>>());
}
