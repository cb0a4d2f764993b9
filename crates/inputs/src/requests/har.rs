//! Requests of an HTTP archive (HAR 1.2), as browsers and proxies save it.

use super::{Recorded, RequestFile, Wrong, shown, wrong};
use base64::prelude::{BASE64_STANDARD, Engine as _};
use serde::Deserialize;
use serde::de::IgnoredAny;

#[derive(Deserialize)]
struct Archive {
    log: Log,
}

#[derive(Deserialize)]
struct Log {
    entries: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    request: Request,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Request {
    method: String,
    url: String,
    #[serde(default)]
    headers: Vec<Pair>,
    post_data: Option<PostData>,
}

#[derive(Deserialize)]
struct Pair {
    name: String,
    #[serde(default)]
    value: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PostData {
    #[serde(default)]
    mime_type: String,
    text: Option<String>,
    /// Not in the standard; written by some for bodies that are no text.
    encoding: Option<String>,
    #[serde(default)]
    params: Vec<Pair>,
}

/// Whether the JSON text is an archive: its first value has the key `log`.
pub(super) fn is_one(text: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct First {
        log: Option<IgnoredAny>,
    }
    let first = serde_json::Deserializer::from_slice(text).into_iter::<First>().next();
    match first {
        Some(Ok(first)) => first.log.is_some(),
        // Not JSON to its end: the reader of the format that it resembles tells where.
        _ => text.trim_ascii_start().starts_with(b"{") && text.windows(9).any(|window| window == b"\"entries\""),
    }
}

pub(super) fn parse(text: &[u8], file: &mut RequestFile) -> Result<(), Wrong> {
    let archive: Archive = match serde_json::from_slice(text) {
        Ok(archive) => archive,
        Err(error) => return wrong(error.line(), format!("the archive is no HAR 1.2: {error}")),
    };
    file.has_entries = true;
    let mut others = 0;
    for (number, Entry { request }) in archive.log.entries.into_iter().enumerate() {
        // Of browsers: data:, blob:, ws: and the like.
        if request.url.starts_with("http://") || request.url.starts_with("https://") {
            file.requests.push(request.recorded(number + 1)?);
        } else {
            others += 1;
        }
    }
    if others > 0 {
        file.notes.push(format!("{}: {others} entries of other schemes than http and https are left out", file.name));
    }
    Ok(())
}

impl Request {
    fn recorded(self, place: usize) -> Result<Recorded, Wrong> {
        let url = self.url.split('#').next().unwrap_or_default().to_owned();
        let mut request = Recorded { place, method: self.method, url, ..Recorded::default() };
        let mut cookies = Vec::new();
        for Pair { name, value } in self.headers {
            // HTTP/2 may send several, which are one in HTTP/1.1 (RFC 9113, 8.2.3).
            if name.eq_ignore_ascii_case("cookie") {
                cookies.push(value);
            } else {
                request.add_field(&name, &value);
            }
        }
        if !cookies.is_empty() {
            request.add_field("Cookie", &cookies.join("; "));
        }
        if let Some(data) = self.post_data {
            let kind = data.mime_type.clone();
            request.body = data.body().map_err(|why| Wrong { place, why })?;
            if request.body.is_some() && !kind.is_empty() && !request.has_field("content-type") {
                request.add_field("Content-Type", &kind);
            }
        }
        Ok(request)
    }
}

impl PostData {
    fn body(self) -> Result<Option<Vec<u8>>, String> {
        match (self.text, self.encoding.as_deref()) {
            (Some(text), Some("base64")) => {
                let decoded = BASE64_STANDARD.decode(&text);
                decoded
                    .map(Some)
                    .map_err(|error| format!("postData.text {} is no base64: {error}", shown(text.as_bytes())))
            }
            (Some(text), None | Some("")) if !text.is_empty() || self.params.is_empty() => Ok(Some(text.into_bytes())),
            (_, Some(other)) if !other.is_empty() => {
                Err(format!("postData.encoding '{}' is unknown: only base64 is", other.escape_debug()))
            }
            _ if self.params.is_empty() => Ok(None),
            _ if self.mime_type.starts_with("application/x-www-form-urlencoded") => {
                let pairs: Vec<String> =
                    self.params.iter().map(|Pair { name, value }| format!("{}={}", form(name), form(value))).collect();
                Ok(Some(pairs.join("&").into_bytes()))
            }
            _ => Err(format!(
                "postData of the type '{}' has parameters without its text: save the archive with the text",
                self.mime_type.escape_debug()
            )),
        }
    }
}

/// As in a form that a browser sends.
fn form(text: &str) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        match byte {
            b' ' => encoded.push('+'),
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'*' | b'-' | b'.' | b'_' => encoded.push(char::from(byte)),
            byte => encoded += &format!("%{byte:02X}"),
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::super::tests::parsed;

    fn archive(request: &str) -> String {
        format!(
            r#"{{"log": {{"version": "1.2", "creator": {{}}, "entries": [{{"request": {request}, "response": {{}}}}]}}}}"#
        )
    }

    #[test]
    fn fields_of_the_connection_are_left_out_and_bodies_kept() {
        let file = parsed(&archive(
            r#"{"method": "POST", "url": "https://a/x?y=1#z", "httpVersion": "h2", "headers": [
                {"name": ":authority", "value": "a"}, {"name": "Host", "value": "b"}, {"name": "connection", "value": "keep-alive"},
                {"name": "cookie", "value": "m=1"}, {"name": "Content-Length", "value": "99"}, {"name": "x-a", "value": "1"},
                {"name": "cookie", "value": "n=2"}],
                "postData": {"mimeType": "text/plain", "text": "h\u00e9"}}"#,
        ));
        let file = file.unwrap();
        let request = &file.requests[0];
        assert_eq!(
            (&request.method[..], &request.url[..], request.host.as_deref()),
            ("POST", "https://a/x?y=1", Some("b"))
        );
        let fields = [("x-a", "1"), ("Cookie", "m=1; n=2"), ("Content-Type", "text/plain")];
        assert_eq!(request.fields, fields.map(|(name, value)| (name.to_owned(), value.to_owned())));
        assert_eq!(request.body.as_deref(), Some("h\u{e9}".as_bytes()));
    }

    #[test]
    fn bodies_come_as_text_base64_or_parameters() {
        let body = |data: &str| {
            let request = format!(r#"{{"method": "PUT", "url": "http://a/", "headers": [], "postData": {data}}}"#);
            parsed(&archive(&request))
                .map(|file| file.requests[0].body.clone().map(|body| String::from_utf8(body).unwrap()))
        };
        let some = |text: &str| Ok(Some(text.to_owned()));
        assert_eq!(body(r#"{"mimeType": "", "text": "aGk=", "encoding": "base64"}"#), some("hi"));
        let params = r#""params": [{"name": "a b", "value": "1&2"}, {"name": "c"}]"#;
        let form = format!(r#"{{"mimeType": "application/x-www-form-urlencoded; charset=UTF-8", {params}}}"#);
        assert_eq!(body(&form), some("a+b=1%262&c="));
        assert_eq!(body(r#"{"mimeType": "text/plain"}"#), Ok(None));
        for (data, says) in [
            (format!(r#"{{"mimeType": "multipart/form-data", {params}}}"#), "multipart/form-data"),
            (r#"{"text": "%", "encoding": "base64"}"#.to_owned(), "base64"),
            (r#"{"text": "x", "encoding": "rot13"}"#.to_owned(), "rot13"),
        ] {
            let error = body(&data).unwrap_err();
            assert!(error.starts_with("FILE: entry 1: ") && error.contains(says), "{error}");
        }
    }

    #[test]
    fn entries_of_other_schemes_are_counted() {
        let entry = |url: &str| format!(r#"{{"request": {{"method": "GET", "url": "{url}", "headers": []}}}}"#);
        let entries = ["data:x", "http://a/", "wss://a/"].map(entry).join(",");
        let file = parsed(&format!(r#"{{"log": {{"entries": [{entries}]}}}}"#)).unwrap();
        assert_eq!((file.requests.len(), file.requests[0].place), (1, 2));
        assert!(file.notes[0].contains("2 entries"), "{:?}", file.notes);
    }
}
