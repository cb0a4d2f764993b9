//! A request as JSON, and its query arguments by name.

use super::query::pairs;
use crate::http::{config::settings::MAX_REFLECTED_BODY, handler::Request};
use serde_json::{Value, json};
use std::collections::BTreeMap;

pub(crate) fn json(request: &Request<'_>) -> Vec<u8> {
    let host = request.fields.get("host").map(text);
    let target = target(request);
    let shown = &request.body[..request.body.len().min(MAX_REFLECTED_BODY)];
    let value = json!({
        "method": request.method,
        "path": request.path,
        "args": arguments(request),
        "headers": headers(request),
        "origin": request.peer.ip().to_string(),
        "local": request.local.to_string(),
        "version": format!("HTTP/1.{}", request.minor_version),
        "url": host.map_or_else(|| target.clone(), |host| format!("http://{host}{target}")),
        "bytes": request.body.len(),
        "data": text(shown),
        "json": serde_json::from_slice::<Value>(shown).unwrap_or(Value::Null),
    });
    pretty(&value)
}

/// Indented JSON with a final newline.
pub(crate) fn pretty(value: &Value) -> Vec<u8> {
    let mut text = serde_json::to_vec_pretty(value).unwrap_or_default();
    text.push(b'\n');
    text
}

pub(crate) fn headers(request: &Request<'_>) -> Value {
    gather(request.fields.iter().map(|field| (field.name.to_owned(), text(field.value))))
}

pub(crate) fn arguments(request: &Request<'_>) -> Value {
    gather(arguments_of(request))
}

/// The first value of a query argument.
pub(crate) fn argument(request: &Request<'_>, name: &str) -> Option<String> {
    arguments_of(request).find(|(own, _)| own == name).map(|(_, value)| value)
}

fn arguments_of(request: &Request<'_>) -> impl Iterator<Item = (String, String)> {
    pairs(request.query.as_bytes()).map(|(name, value)| (text(&name), text(&value)))
}

fn gather(pairs: impl Iterator<Item = (String, String)>) -> Value {
    let mut all = BTreeMap::<String, Vec<String>>::new();
    for (name, value) in pairs {
        all.entry(name).or_default().push(value);
    }
    json!(all)
}

fn target(request: &Request<'_>) -> String {
    match request.query {
        "" => request.path.to_owned(),
        query => format!("{}?{query}", request.path),
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
