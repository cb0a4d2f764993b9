//! A request told as JSON, and the parts of it that people ask for by name.

use crate::http::{config::settings::MAX_REFLECTED_BODY, handler::Request};
use serde_json::{Map, Value, json};

/// The whole request.
pub(crate) fn json(request: &Request<'_>) -> Vec<u8> {
    let host = request.fields.get("host").map(text);
    let target = target(request);
    let told = &request.body[..request.body.len().min(MAX_REFLECTED_BODY)];
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
        "data": text(told),
        "json": serde_json::from_slice::<Value>(told).unwrap_or(Value::Null),
    });
    lines(&value)
}

/// The value as text for people, with a line end.
pub(crate) fn lines(value: &Value) -> Vec<u8> {
    let mut text = serde_json::to_vec_pretty(value).unwrap_or_default();
    text.push(b'\n');
    text
}

/// Fields by name, each with all its values.
pub(crate) fn headers(request: &Request<'_>) -> Value {
    gather(request.fields.iter().map(|field| (field.name.to_owned(), text(field.value))))
}

/// Arguments of the query by name, each with all its values.
pub(crate) fn arguments(request: &Request<'_>) -> Value {
    gather(pairs(request.query))
}

/// The first argument of that name.
pub(crate) fn argument(request: &Request<'_>, name: &str) -> Option<String> {
    pairs(request.query).find(|(own, _)| own == name).map(|(_, value)| value)
}

fn gather(pairs: impl Iterator<Item = (String, String)>) -> Value {
    let mut all = Map::new();
    for (name, value) in pairs {
        let values = all.entry(name).or_insert_with(|| Value::Array(Vec::new()));
        if let Value::Array(values) = values {
            values.push(Value::String(value));
        }
    }
    Value::Object(all)
}

fn pairs(query: &str) -> impl Iterator<Item = (String, String)> {
    query.split('&').filter(|pair| !pair.is_empty()).map(|pair| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        (decoded(name), decoded(value))
    })
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

/// `%41` and `+` of a query made plain; what is no such thing stays as it is.
pub(crate) fn decoded(value: &str) -> String {
    let hex = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
    let (bytes, mut plain, mut at) = (value.as_bytes(), Vec::with_capacity(value.len()), 0);
    while let Some(&byte) = bytes.get(at) {
        let pair = (bytes.get(at + 1).copied().and_then(hex), bytes.get(at + 2).copied().and_then(hex));
        match (byte, pair) {
            (b'%', (Some(high), Some(low))) => {
                plain.push(high << 4 | low);
                at += 3;
                continue;
            }
            (b'+', _) => plain.push(b' '),
            _ => plain.push(byte),
        }
        at += 1;
    }
    text(&plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_are_decoded_as_far_as_they_can_be() {
        assert_eq!(decoded("a%20b+c%2B"), "a b c+");
        assert_eq!(decoded("%"), "%");
        assert_eq!(decoded("%4"), "%4");
        assert_eq!(decoded("%zz%41"), "%zzA");
        assert_eq!(decoded("%ff"), "\u{fffd}");
        let all: Vec<_> = pairs("a=1&&b&a=2=3").collect();
        assert_eq!(all, [("a", "1"), ("b", ""), ("a", "2=3")].map(|(a, b)| (a.to_owned(), b.to_owned())));
    }
}
