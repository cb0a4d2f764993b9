//! The JSON Schema of `result.json`, as published under `docs/schema/`.

use crate::{figure, result::RunResult};
use serde_json::{Map, Value, json};

/// The schema, with every computed figure.
pub fn result() -> Value {
    let mut schema = schemars::schema_for!(RunResult).to_value();
    let property = |figure: &figure::Figure| json!({ "description": figure.help, "type": ["number", "null"] });
    let computed = figure::computed().map(|(figure, _)| (figure.key.to_owned(), property(figure)));
    schema["properties"]["figures"]["properties"] = computed.collect::<Map<String, Value>>().into();
    schema
}
