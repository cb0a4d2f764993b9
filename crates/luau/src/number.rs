use mlua::Value;

/// The value as a number: mlua has two variants for the single number type of scripts.
pub fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Integer(number) => Some(*number as f64),
        Value::Number(number) => Some(*number),
        _ => None,
    }
}
