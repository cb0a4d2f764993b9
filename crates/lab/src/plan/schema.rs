//! The JSON Schema of plans, for editors and generators. It rejects every key that the parser rejects. What needs the whole
//! plan, such as a filter that matches nothing, only the parser detects.

use super::key::{Key, ValueType};
use super::keys::{FILTER, PLAN, SETTINGS, TAKEN, TARGET};
use super::settings::NO_AXES;
use super::{template, tester};
use serde_json::{Map, Value, json};

pub fn json_schema() -> Value {
    let mut schema = table(PLAN);
    let own = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A plan of brunt run",
        "description": "What an experiment varies, on which targets, under which load.",
        "$defs": {
            "scalar": { "type": ["string", "number", "boolean"] },
            "sweep": sweep(),
            "pattern": {
                "type": "object",
                "minProperties": 1,
                "additionalProperties": one_or_list(json!({ "$ref": "#/$defs/scalar" })),
            },
            "settings": table(SETTINGS),
        },
    });
    for (name, value) in own.as_object().into_iter().flatten() {
        schema[name] = value.clone();
    }
    schema
}

fn table(keys: &[Key]) -> Value {
    let mut properties: Map<String, Value> = keys.iter().map(|key| (key.name.to_owned(), described(key))).collect();
    for (key, alias) in keys.iter().filter_map(|key| Some((key, key.alias?))) {
        let mut value = described(key);
        value["description"] = json!(format!("The earlier name of {}.", key.name));
        value["deprecated"] = json!(true);
        properties.insert(alias.to_owned(), value);
    }
    let needed: Vec<&str> = keys.iter().filter(|key| key.required).map(|key| key.name).collect();
    let mut table = json!({ "type": "object", "properties": properties, "additionalProperties": false });
    if !needed.is_empty() {
        table["required"] = json!(needed);
    }
    table
}

fn described(key: &Key) -> Value {
    let mut value = value_schema(key.value_type);
    value["description"] = json!(key.description);
    value
}

fn value_schema(what: ValueType) -> Value {
    match what {
        ValueType::Name => json!({ "type": "string", "pattern": r"^[A-Za-z0-9_+-][A-Za-z0-9._+-]{0,63}$" }),
        ValueType::Text => json!({ "type": "string" }),
        ValueType::Words => json!({ "type": "array", "items": { "type": "string" } }),
        ValueType::Command => json!({ "type": "array", "items": { "type": "string" }, "minItems": 1 }),
        ValueType::OneOf(words) => json!({ "enum": words }),
        ValueType::Whole(low, high) => json!({ "type": "integer", "minimum": low, "maximum": high }),
        ValueType::Count => number_or(r"^[0-9][0-9._]*[kKMG]?$"),
        ValueType::Rate => number_or(r"^(max|[0-9.][0-9._]*[kKMG]?(/s)?)$"),
        ValueType::Share => number_or(r"^(max|[0-9.][0-9._]*([kKMG]?(/s)?|%))$"),
        ValueType::Factor => number_or(r"^[0-9.]+$"),
        ValueType::Size => number_or(r"^[0-9.][0-9._]*(B|Ki|KiB|Mi|MiB|Gi|GiB)?$"),
        ValueType::Percent => json!({ "type": "string", "pattern": r"^[0-9.]+ *%$" }),
        // Only zero needs no unit.
        ValueType::Span => json!({ "anyOf": [
            { "type": "string", "pattern": r"^([0-9.][0-9._]*(ns|us|µs|ms|s|m|h)|0)$" },
            { "const": 0 },
        ] }),
        ValueType::Bool => json!({ "type": "boolean" }),
        ValueType::Truth => json!({ "enum": [true, false, "true", "false"] }),
        ValueType::Cores => json!({ "anyOf": [
            { "type": "integer", "minimum": 1, "maximum": 1024 },
            { "type": "string", "pattern": r"^\+?[0-9]+$" },
        ] }),
        ValueType::ClientCores => json!({ "anyOf": [
            { "type": "integer", "minimum": 1, "maximum": 1024 },
            { "type": "string", "pattern": r"^(\+?[0-9]+x?|rest)$" },
        ] }),
        ValueType::Path => json!({ "type": "string", "pattern": "^/" }),
        ValueType::Pin => {
            json!({ "anyOf": [{ "type": "boolean" }, { "type": "string", "pattern": r"^[0-9][0-9, -]*$" }] })
        }
        ValueType::Tester => json!({ "enum": tester::names() }),
        ValueType::Policy => {
            json!({ "type": "string", "pattern": "^(alone|none|graded|heracles([/:][0-9.]+)?|heracles-prototype|koordinator|parties|static=[0-9.]+)$" })
        }
        ValueType::Testers => {
            let words = |name| (String::from(name), value_schema(ValueType::Words));
            let known: Map<String, Value> = tester::names().into_iter().map(words).collect();
            json!({ "type": "object", "properties": known, "additionalProperties": false })
        }
        ValueType::Env => json!({
            "type": "object",
            "propertyNames": { "pattern": "^[^=]+$" },
            "additionalProperties": { "$ref": "#/$defs/scalar" },
        }),
        ValueType::Patterns => one_or_list(json!({ "$ref": "#/$defs/pattern" })),
        ValueType::Settings => json!({ "$ref": "#/$defs/settings" }),
        ValueType::Table(keys) => table(keys),
        ValueType::Targets => json!({ "type": "array", "items": target(), "minItems": 1 }),
        ValueType::Tables(keys) => json!({ "type": "array", "items": table(keys) }),
        ValueType::Sweep => json!({ "anyOf": [
            { "$ref": "#/$defs/sweep" },
            { "type": "array", "items": { "$ref": "#/$defs/sweep" } },
        ] }),
    }
}

fn target() -> Value {
    let mut target = table(TARGET);
    let starts = ["serve", "command", "nginx", "on"].map(|start| json!({ "required": [start] }));
    target["oneOf"] = json!(starts);
    target
}

/// Axes may have any name without a fixed meaning.
fn sweep() -> Value {
    let mut properties: Map<String, Value> = FILTER.iter().map(|key| (key.name.to_owned(), described(key))).collect();
    for key in SETTINGS.iter().filter(|key| !NO_AXES.contains(&key.name)) {
        let mut values = one_or_list(value_schema(key.value_type));
        values["description"] = json!(key.description);
        properties.insert(key.name.to_owned(), values);
    }
    let taken: Vec<&str> = TAKEN.iter().chain(template::OWN).chain(&NO_AXES).copied().collect();
    json!({
        "type": "object",
        "properties": properties,
        "propertyNames": { "pattern": "^[A-Za-z0-9_-]{1,32}$", "not": { "enum": taken } },
        "additionalProperties": one_or_list(json!({ "$ref": "#/$defs/scalar" })),
    })
}

fn one_or_list(one: Value) -> Value {
    json!({ "anyOf": [one, { "type": "array", "items": one, "minItems": 1 }] })
}

fn number_or(pattern: &str) -> Value {
    json!({ "anyOf": [{ "type": "number", "minimum": 0 }, { "type": "string", "pattern": pattern }] })
}
