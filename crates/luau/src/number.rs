//! Numbers, which a machine keeps in two forms and a script in one.

use mlua::Value;

/// The number that a value is.
pub fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Integer(number) => Some(*number as f64),
        Value::Number(number) => Some(*number),
        _ => None,
    }
}
