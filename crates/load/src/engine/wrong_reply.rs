//! The first reply of a run that was not as expected, for the report. Later ones cost one load.

use super::shared::Shared;
use crate::http::{Expect, redirect::Refusal};
use crate::measure::recorder::Failure;
use brunt_results::WrongReply;
use brunt_wire::http1::ParseError;
use std::fmt::Display;

/// Most bytes of a reply that are shown.
const SHOWN: usize = 60;

/// Notes a refused reply, number `number` on its connection from 1, of which `bytes` are the first or those at fault; returns
/// what came and why it was refused.
#[cold]
#[inline(never)]
pub fn note_refused(shared: &Shared, number: u64, why: &dyn Display, bytes: &[u8]) -> String {
    let got = named(bytes).unwrap_or_else(|| {
        let shown = if bytes.is_empty() { String::new() } else { format!(", in {}", shortened(bytes)) };
        format!("reply {number} on this connection: {why}{shown}")
    });
    note(shared, "a valid HTTP/1 reply", got.clone());
    got
}

/// The flag that raises a limit, for the text of an error.
pub fn flag(error: ParseError) -> &'static str {
    match error {
        ParseError::HeadTooLong => " (--max-header allows more)",
        ParseError::TooManyFields => " (--max-fields allows more)",
        _ => "",
    }
}

/// Bytes with their protocol, if it is known and not HTTP/1.
fn named(bytes: &[u8]) -> Option<String> {
    foreign(bytes).map(|name| format!("{name}, {}", shortened(bytes)))
}

/// What bytes are that begin no HTTP/1 reply, if they are known.
fn foreign(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        // The header of a TLS record (RFC 8446, 5.1), as of the alert of a server that expected one.
        [20..=23, 3, 0..=4, ..] => Some(WrongReply::TLS),
        // The header of a SETTINGS or GOAWAY frame of the connection itself (RFC 9113, 4.1).
        [0, _, _, 4 | 7, _, 0, 0, 0, 0, ..] => Some(WrongReply::HTTP2),
        _ => None,
    }
}

/// Notes received bytes that are no reply to the request.
#[cold]
#[inline(never)]
pub fn note_protocol(shared: &Shared, expected: &str, bytes: &[u8]) {
    let tls = named(bytes).filter(|got| got.starts_with(WrongReply::TLS));
    note(shared, expected, tls.unwrap_or_else(|| shortened(bytes)));
}

/// Notes a redirect that is not followed.
#[cold]
pub fn note_redirect(shared: &Shared, status: u16, refusal: &Refusal) {
    shared.first_failures.reply.get_or_init(|| WrongReply {
        kind: "status".to_owned(),
        expected: "one that can be followed".to_owned(),
        got: format!("{refusal} ({status})"),
    });
}

fn note(shared: &Shared, expected: &str, got: String) {
    let (kind, expected) = ("protocol".to_owned(), expected.to_owned());
    shared.first_failures.reply.get_or_init(|| WrongReply { kind, expected, got });
}

/// Notes a reply whose status, or else its body or length, is not the required one. `got` is its status, length and body, as
/// far as it was kept.
#[cold]
#[inline(never)]
pub fn note_unexpected(shared: &Shared, expect: &Expect, failure: Failure, got: (u16, u64, &[u8])) {
    shared.first_failures.reply.get_or_init(|| {
        let (status, length, body) = got;
        let shown = if body.is_empty() { String::new() } else { format!(", {}", shortened(body)) };
        let got = format!("a body of {length} B{shown}");
        if failure == Failure::Status {
            let (expected, got) = (expect.statuses.to_string(), format!("{status} with {got}"));
            return WrongReply { kind: "status".to_owned(), expected, got };
        }
        let text = expect.body.as_ref().map(|text| format!("one with {}", shortened(text)));
        let size = expect.length.map(|length| format!("a body of {length} B"));
        let expected = [size, text].into_iter().flatten().collect::<Vec<_>>().join(", ");
        WrongReply { kind: "mismatch".to_owned(), expected, got }
    });
}

fn shortened(bytes: &[u8]) -> String {
    let shown = &bytes[..bytes.len().min(SHOWN)];
    let rest = if bytes.len() > SHOWN { "..." } else { "" };
    let escaped = |c: char| if c.is_control() { c.escape_debug().to_string() } else { c.to_string() };
    format!("'{}{rest}'", String::from_utf8_lossy(shown).chars().map(escaped).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_shortened_and_tls_and_http2_are_recognized() {
        assert_eq!(shortened(b"{\"a\"}\r\n"), r#"'{"a"}\r\n'"#);
        assert_eq!(shortened(&[b'x'; 100]), format!("'{}...'", "x".repeat(SHOWN)));
        for (bytes, name) in [
            (&b"\x15\x03\x03\x00\x02\x02\x46"[..], Some(WrongReply::TLS)),
            (b"\0\0\x06\x04\0\0\0\0\0\0\x03\0\0\0\x64", Some(WrongReply::HTTP2)),
            (b"HTTP/1.1 200", None),
            (b"\x15\x03", None),
        ] {
            assert_eq!(foreign(bytes), name, "{bytes:?}");
        }
    }
}
