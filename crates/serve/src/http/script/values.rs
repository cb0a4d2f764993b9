//! Conversions of Luau values: numbers, texts, lists, and values in error messages.

use brunt_luau::mlua::{Table, Value};
use brunt_luau::number;

/// A whole number in `range`, which must end below 2^53.
pub(super) fn whole(value: &Value, range: std::ops::RangeInclusive<u64>) -> Option<u64> {
    let number = number(value)?;
    (number.fract() == 0.0 && number >= *range.start() as f64 && number <= *range.end() as f64).then_some(number as u64)
}

/// A number or text as text.
pub(super) fn text(value: &Value) -> Option<Vec<u8>> {
    match value {
        Value::String(text) => Some(text.as_bytes().to_vec()),
        other => number(other).map(|number| number.to_string().into_bytes()),
    }
}

/// The elements of a list, from 1 to the first nil.
pub(super) fn elements(table: &Table) -> impl Iterator<Item = Value> {
    table.sequence_values::<Value>().map_while(Result::ok)
}

/// Calls `each` for the pairs of a table until it fails.
pub(super) fn each(table: &Table, mut each: impl FnMut(Value, Value) -> Result<(), String>) -> Result<(), String> {
    let mut refused = None;
    let walked = table.for_each(|key, value| {
        each(key, value).map_err(|text| {
            refused = Some(text);
            brunt_luau::mlua::Error::runtime("refused")
        })
    });
    match (refused, walked) {
        (Some(text), _) => Err(text),
        (None, Err(error)) => Err(error.to_string()),
        (None, Ok(())) => Ok(()),
    }
}

/// A value in an error message: a quoted text, a number, or the name of its type.
pub(super) fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => {
            let lossy = text.to_string_lossy();
            let mut short: String = lossy.chars().take(40).collect();
            if short.len() < lossy.len() {
                short.push_str("...");
            }
            format!("`{}`", short.escape_debug())
        }
        other => number(other).map_or_else(|| format!("a {}", other.type_name()), |number| number.to_string()),
    }
}
