//! A line of an access log as JSON: time, method and path under the names that servers use.

use super::request::{Request, method, request_line, target};
use super::stamp::Stamp;
use serde_json::{Map, Value};

const TIMES: [&str; 8] = ["time", "timestamp", "@timestamp", "ts", "time_iso8601", "time_local", "msec", "StartUTC"];
const METHODS: [&str; 4] = ["method", "request_method", "verb", "RequestMethod"];
const PATHS: [&str; 5] = ["path", "uri", "request_uri", "url", "RequestPath"];

type Object = Map<String, Value>;

/// The request of a line; `None` if it is none.
pub(super) fn parse(line: &[u8]) -> Option<Request> {
    let Ok(Value::Object(object)) = serde_json::from_slice(line) else { return None };
    let stamp = first(&object, &TIMES).and_then(|value| match value {
        Value::String(text) => Stamp::parse(text),
        Value::Number(number) => Stamp::parse(&number.to_string()),
        _ => None,
    })?;
    let (method, target) = match object.get("request") {
        // `$request` of nginx.
        Some(Value::String(text)) => request_line(text.as_bytes())?,
        Some(Value::Object(request)) => parts(request)?,
        _ => parts(&object)?,
    };
    Some(Request { stamp, method, target })
}

fn parts(object: &Object) -> Option<(String, String)> {
    let text = |names: &[&str]| first(object, names).and_then(Value::as_str);
    Some((method(text(&METHODS)?.as_bytes())?, target(text(&PATHS)?.as_bytes())?))
}

fn first<'a>(object: &'a Object, names: &[&str]) -> Option<&'a Value> {
    names.iter().find_map(|name| object.get(*name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_several_servers_are_known() {
        for line in [
            r#"{"time": "2000-10-10T20:55:36Z", "method": "PUT", "path": "/x?y"}"#,
            r#"{"@timestamp": "2000-10-10T20:55:36+00:00", "request_method": "PUT", "request_uri": "/x?y", "status": 200}"#,
            r#"{"time_local": "10/Oct/2000:13:55:36 -0700", "request": "PUT /x?y HTTP/1.1"}"#,
            r#"{"msec": "971211336", "request": "PUT /x?y HTTP/2.0"}"#,
            // Caddy.
            r#"{"level": "info", "ts": 971211336, "msg": "handled request", "request": {"proto": "HTTP/1.1", "method": "PUT", "host": "a", "uri": "/x?y"}, "status": 200}"#,
            // Traefik.
            r#"{"StartUTC": "2000-10-10T20:55:36Z", "RequestMethod": "PUT", "RequestPath": "/x?y", "DownstreamStatus": 200}"#,
        ] {
            let stamp = Stamp { ns: 971_211_336_000_000_000, resolution_ns: 1_000_000_000 };
            let expected = Request { stamp, method: "PUT".to_owned(), target: "/x?y".to_owned() };
            assert_eq!(parse(line.as_bytes()), Some(expected), "{line}");
        }
        let fine = parse(br#"{"ts": 971211336.125, "method": "GET", "url": "http://a/"}"#).unwrap();
        assert_eq!(
            (fine.stamp.ns, fine.stamp.resolution_ns, &fine.target[..]),
            (971_211_336_125_000_000, 1_000_000, "/")
        );
        for line in [
            "{",
            "{}",
            r#"{"time": "2000-10-10T20:55:36Z", "msg": "started"}"#,
            r#"{"time": true, "method": "GET", "path": "/"}"#,
            r#"{"time": "2000-10-10T20:55:36Z", "method": "GET", "path": "x"}"#,
            r#"{"time": "2000-10-10T20:55:36Z", "request": "-"}"#,
        ] {
            assert_eq!(parse(line.as_bytes()), None, "{line}");
        }
    }
}
