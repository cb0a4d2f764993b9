//! The first reply of a run that was not as expected, for the report. Later ones cost one load.

use super::shared::Shared;
use crate::{http::Expect, measure::recorder::Failure};
use brunt_results::WrongReply;

/// Most bytes of a reply that are shown.
const SHOWN: usize = 60;

/// Notes received bytes that are no valid HTTP/1 reply to the request, or more than that.
#[cold]
pub fn note_http(shared: &Shared, bytes: &[u8]) {
    let is_http = bytes.starts_with(b"HTTP/1");
    note_protocol(shared, if is_http { "a valid reply without excess bytes" } else { "an HTTP/1 reply" }, bytes);
}

/// Notes received bytes that are no reply to the request.
#[cold]
#[inline(never)]
pub fn note_protocol(shared: &Shared, expected: &str, bytes: &[u8]) {
    shared.first_failures.reply.get_or_init(|| WrongReply {
        kind: "protocol".to_owned(),
        expected: expected.to_owned(),
        got: if is_tls(bytes) { WrongReply::TLS.to_owned() } else { shortened(bytes) },
    });
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

/// Whether bytes begin with the header of a TLS record (RFC 8446, 5.1), as the alert of a server that expected one.
fn is_tls(bytes: &[u8]) -> bool {
    matches!(bytes, [20..=23, 3, 0..=4, ..])
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
    fn bytes_are_shortened_and_tls_is_recognized() {
        assert_eq!(shortened(b"{\"a\"}\r\n"), r#"'{"a"}\r\n'"#);
        assert_eq!(shortened(&[b'x'; 100]), format!("'{}...'", "x".repeat(SHOWN)));
        for (bytes, tls) in
            [(&b"\x15\x03\x03\x00\x02\x02\x46"[..], true), (b"HTTP/1.1 200", false), (b"\x15\x03", false)]
        {
            assert_eq!(is_tls(bytes), tls, "{bytes:?}");
        }
    }
}
