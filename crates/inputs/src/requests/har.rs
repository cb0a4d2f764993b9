//! Requests of an HTTP archive (HAR 1.2), as browsers and proxies save it.
//!
//! An entry that cannot be sent is left out and counted by its reason: the others are sent.

use super::form::{self, MULTIPART, Part};
use super::{Recorded, RequestFile, Wrong, wrong};
use crate::address;
use base64::prelude::{BASE64_STANDARD, Engine as _};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

#[derive(Deserialize)]
struct Archive {
    log: Log,
}

#[derive(Deserialize)]
struct Log {
    entries: Vec<Value>,
}

#[derive(Deserialize)]
struct Entry {
    request: Request,
    response: Option<Response>,
}

#[derive(Deserialize)]
struct Response {
    status: Option<i64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Request {
    method: String,
    url: String,
    headers: Option<Vec<Pair>>,
    post_data: Option<PostData>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Pair {
    #[serde(default)]
    name: String,
    value: Option<Value>,
    file_name: Option<String>,
    content_type: Option<String>,
}

impl Pair {
    /// Some writers have numbers.
    fn value(&self) -> String {
        match &self.value {
            Some(Value::String(text)) => text.clone(),
            None | Some(Value::Null) => String::new(),
            Some(other) => other.to_string(),
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PostData {
    mime_type: Option<String>,
    text: Option<String>,
    /// Not in the standard; written by some for bodies that are no text.
    encoding: Option<String>,
    params: Option<Vec<Pair>>,
}

/// Why an entry is left out: what it has.
type Reason = &'static str;

const NO_REPLY: Reason = "without a reply (status 0)";
const NO_REQUEST: Reason = "without a request with method and URL";
const OTHER_SCHEME: Reason = "of other schemes than http and https";
const BAD_URL: Reason = "with a URL that cannot be sent";
const BAD_METHOD: Reason = "with a method that cannot be sent";
const BAD_HEADER: Reason = "with a header that cannot be sent";
const BAD_BASE64: Reason = "whose body is no base64";
const BAD_ENCODING: Reason = "whose body has an unknown encoding";
const NO_FILE: Reason = "of forms with a file that the archive has not";
const NO_TEXT: Reason = "with parameters of a body, but not its text";

/// In the order of the note.
const REASONS: [Reason; 10] =
    [NO_REPLY, NO_REQUEST, OTHER_SCHEME, BAD_URL, BAD_METHOD, BAD_HEADER, BAD_BASE64, BAD_ENCODING, NO_FILE, NO_TEXT];

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
    let all = archive.log.entries.len();
    let mut left_out = Vec::new();
    for (number, entry) in archive.log.entries.into_iter().enumerate() {
        match recorded(entry, number + 1) {
            Ok(request) => file.requests.push(request),
            Err(reason) => left_out.push(reason),
        }
    }
    let counts = REASONS.iter().map(|reason| (left_out.iter().filter(|known| *known == reason).count(), reason));
    let counts: Vec<String> =
        counts.filter(|(count, _)| *count > 0).map(|(count, reason)| format!("{count} {reason}")).collect();
    if !counts.is_empty() {
        let (some, counts) = (left_out.len(), counts.join(", "));
        file.notes.push(format!("{}: {some} of {all} entries are left out: {counts}", file.name));
    }
    Ok(())
}

fn recorded(entry: Value, place: usize) -> Result<Recorded, Reason> {
    let Entry { request, response } = serde_json::from_value(entry).map_err(|_| NO_REQUEST)?;
    let scheme = request.url.split_once(':').map_or("", |(scheme, _)| scheme).to_ascii_lowercase();
    match &*scheme {
        "http" | "https" => {}
        // Of browsers: data:, blob:, ws: and the like.
        _ if !scheme.is_empty() => return Err(OTHER_SCHEME),
        _ => return Err(BAD_URL),
    }
    if response.is_some_and(|response| response.status == Some(0)) {
        return Err(NO_REPLY);
    }
    request.recorded(place)
}

impl Request {
    fn recorded(self, place: usize) -> Result<Recorded, Reason> {
        let is_token = |text: &str| {
            !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b))
        };
        if address::parse(&self.url).is_err() {
            return Err(BAD_URL);
        }
        if !is_token(&self.method) || self.method == "CONNECT" {
            return Err(BAD_METHOD);
        }
        let mut request = Recorded { place, method: self.method, url: self.url, ..Recorded::default() };
        let mut cookies: Vec<String> = Vec::new();
        for pair in self.headers.unwrap_or_default() {
            let value = pair.value().trim().to_owned();
            let is_sendable = is_token(pair.name.trim_start_matches(':'))
                && !value.bytes().any(|byte| byte.is_ascii_control() && byte != b'\t');
            if !is_sendable {
                return Err(BAD_HEADER);
            }
            if !pair.name.eq_ignore_ascii_case("cookie") {
                request.add_field(&pair.name, &value);
                continue;
            }
            // HTTP/2 may send several, which are one in HTTP/1.1 (RFC 9113, 8.2.3); some archives have each twice.
            for cookie in value.split(';').map(str::trim).filter(|cookie| !cookie.is_empty()) {
                if !cookies.iter().any(|known| known == cookie) {
                    cookies.push(cookie.to_owned());
                }
            }
        }
        if !cookies.is_empty() {
            request.add_field("Cookie", &cookies.join("; "));
        }
        if let Some(data) = self.post_data {
            data.add_to(&mut request)?;
        }
        Ok(request)
    }
}

impl PostData {
    /// Adds the body, and its type unless a header has it.
    fn add_to(self, request: &mut Recorded) -> Result<(), Reason> {
        let typed = request.fields.iter().find(|(name, _)| name.eq_ignore_ascii_case("content-type"));
        let mut kind = typed.map_or_else(|| self.mime_type.clone().unwrap_or_default(), |(_, value)| value.clone());
        let Some(body) = self.body(&mut kind)? else { return Ok(()) };
        // What browsers write of a request that has none.
        if body.is_empty() && matches!(&*request.method, "GET" | "HEAD") {
            return Ok(());
        }
        request.body = Some(body);
        if !kind.is_empty() {
            request.fields.retain(|(name, _)| !name.eq_ignore_ascii_case("content-type"));
            request.add_field("Content-Type", &kind);
        }
        Ok(())
    }

    /// `kind` is the type of the body; a form with parts gets a boundary if it names none.
    fn body(self, kind: &mut String) -> Result<Option<Vec<u8>>, Reason> {
        let params = self.params.unwrap_or_default();
        match (self.text, self.encoding.as_deref().filter(|encoding| !encoding.is_empty())) {
            (Some(text), Some("base64")) => BASE64_STANDARD.decode(text).map(Some).map_err(|_| BAD_BASE64),
            (_, Some(_)) => Err(BAD_ENCODING),
            (Some(text), None) if !text.is_empty() || params.is_empty() => Ok(Some(text.into_bytes())),
            _ if params.is_empty() => Ok(None),
            _ => form_of(&params, kind).map(Some),
        }
    }
}

/// The body of a form of which the archive has the fields alone.
fn form_of(params: &[Pair], kind: &mut String) -> Result<Vec<u8>, Reason> {
    let pure = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    if pure == "application/x-www-form-urlencoded" {
        let pair = |pair: &Pair| format!("{}={}", form::urlencoded(&pair.name), form::urlencoded(&pair.value()));
        return Ok(params.iter().map(pair).collect::<Vec<_>>().join("&").into_bytes());
    }
    if pure != MULTIPART {
        return Err(NO_TEXT);
    }
    let part = |pair: &Pair| match &pair.value {
        None if pair.file_name.is_some() => Err(NO_FILE),
        _ => Ok(Part {
            name: pair.name.clone(),
            content: pair.value().into_bytes(),
            file: pair.file_name.clone(),
            kind: pair.content_type.clone().filter(|kind| !kind.is_empty()),
        }),
    };
    let parts = params.iter().map(part).collect::<Result<Vec<_>, _>>()?;
    if form::named_boundary(kind).is_none() {
        *kind = format!("{MULTIPART}; boundary={}", form::boundary(&parts));
    }
    Ok(form::multipart(&parts, form::named_boundary(kind).unwrap_or_default()))
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
            ("POST", "https://a/x?y=1#z", Some("b"))
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
        let parts = body(&format!(r#"{{"mimeType": "multipart/form-data; boundary=B", {params}}}"#)).unwrap().unwrap();
        let part = |name: &str, text: &str| {
            format!("--B\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{text}\r\n")
        };
        assert_eq!(parts, part("a b", "1&2") + &part("c", "") + "--B--\r\n");
        for (data, says) in [
            (r#"{"text": "%", "encoding": "base64"}"#, "1 whose body is no base64"),
            (r#"{"text": "x", "encoding": "rot13"}"#, "1 whose body has an unknown encoding"),
        ] {
            let error = body(data).unwrap_err();
            assert!(error.starts_with("FILE holds no request") && error.contains(says), "{error}");
        }
    }

    #[test]
    fn entries_of_other_schemes_are_counted() {
        let entry = |url: &str| format!(r#"{{"request": {{"method": "GET", "url": "{url}", "headers": []}}}}"#);
        let entries = ["data:x", "http://a/", "wss://a/"].map(entry).join(",");
        let file = parsed(&format!(r#"{{"log": {{"entries": [{entries}]}}}}"#)).unwrap();
        assert_eq!((file.requests.len(), file.requests[0].place), (1, 2));
        assert!(
            file.notes[0].ends_with("2 of 3 entries are left out: 2 of other schemes than http and https"),
            "{:?}",
            file.notes
        );
    }
}
