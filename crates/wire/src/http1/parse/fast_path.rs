//! Parses heads in the usual form in one pass: single spaces, CRLF, no white space to trim.
//!
//! Saves 520 of 1,100 instructions for a request of one field, 770 of 1,960 for varied ones of four, and 660 of 1,780 for a
//! response (`examples/http1_cost.rs`, callgrind); a whole request takes 1,000 to 2,000 in user mode.
//!
//! Must never decide what an input means: anything unusual, incomplete or invalid is `None`, and is left to `httparse` and
//! the checks after it. Property tests compare the two.

use super::framing_headers::FramingHeaders;
use super::{scan, target};
use crate::http1::{Fields, Limits, MAX_FIELDS, Method, Version};

/// A request line, its target in a form that the method allows.
pub(crate) struct RequestLine<'a> {
    pub method: Method,
    pub method_name: &'a str,
    pub target: &'a [u8],
    pub version: Version,
    /// Of the target, if it names one.
    pub authority: Option<&'a [u8]>,
}

pub(crate) struct StatusLine<'a> {
    pub status: u16,
    pub reason: &'a [u8],
    pub version: Version,
}

/// Parses a request head in the usual form; returns its length too, and adds its framing fields to `framing`.
#[inline(always)]
pub(crate) fn request<'a>(
    window: &'a [u8],
    limits: &Limits,
    framing: &mut FramingHeaders<'a>,
) -> Option<(RequestLine<'a>, Fields<'a>, usize)> {
    let (method, method_name) = match window {
        [b'G', b'E', b'T', b' ', b'/', ..] => (Method::Get, "GET"),
        [b'P', b'O', b'S', b'T', b' ', b'/', ..] => (Method::Post, "POST"),
        [b'H', b'E', b'A', b'D', b' ', b'/', ..] => (Method::Head, "HEAD"),
        [b'P', b'U', b'T', b' ', b'/', ..] => (Method::Put, "PUT"),
        _ => return None,
    };
    let rest = &window[method_name.len() + 1..];
    let length = target::run(rest);
    let (target, rest) = rest.split_at(length);
    if length > limits.target {
        return None;
    }
    let (version, rest) = match rest.strip_prefix(b" HTTP/1.1\r\n") {
        Some(rest) => (Version::Http11, rest),
        None => (Version::Http10, rest.strip_prefix(b" HTTP/1.0\r\n")?),
    };
    let line = RequestLine { method, method_name, target, version, authority: None };
    let block = fields(rest, limits.fields.min(MAX_FIELDS), framing)?;
    let end = window.len() - rest.len() + block.len();
    Some((line, Fields::from_bytes(block), end))
}

/// Parses a response head in the usual form; returns its length too, and adds its framing fields to `framing`.
#[inline(always)]
pub(crate) fn response<'a>(
    window: &'a [u8],
    limits: &Limits,
    framing: &mut FramingHeaders<'a>,
) -> Option<(StatusLine<'a>, Fields<'a>, usize)> {
    let (start, rest) = window.split_first_chunk()?;
    let [b'H', b'T', b'T', b'P', b'/', b'1', b'.', b'1', b' ', hundreds @ b'1'..=b'9', tens, ones, b' '] = start else {
        return None;
    };
    if !tens.is_ascii_digit() || !ones.is_ascii_digit() {
        return None;
    }
    let digit = |byte: &u8| u16::from(byte - b'0');
    let status = digit(hundreds) * 100 + digit(tens) * 10 + digit(ones);
    let (reason, behind) = rest.split_at(scan::text(rest));
    let rest = behind.strip_prefix(b"\r\n")?;
    if !reason.is_ascii() {
        return None;
    }
    let line = StatusLine { status, reason, version: Version::Http11 };
    let block = fields(rest, limits.fields, framing)?;
    let end = window.len() - rest.len() + block.len();
    Some((line, Fields::from_bytes(block), end))
}

/// At most `most` field lines, with the empty one that ends them.
#[inline(never)]
fn fields<'a>(bytes: &'a [u8], most: usize, framing: &mut FramingHeaders<'a>) -> Option<&'a [u8]> {
    let mut rest = bytes;
    for _ in 0..=most {
        if rest.starts_with(b"\r\n") {
            return bytes.get(..bytes.len() - rest.len() + 2);
        }
        let (name, line) = rest.split_at(scan::token(rest));
        let line = line.strip_prefix(b": ")?;
        let (value, behind) = line.split_at(scan::text(line));
        if name.is_empty() || value.starts_with(b" ") || value.ends_with(b" ") {
            return None;
        }
        rest = behind.strip_prefix(b"\r\n")?;
        framing.add(name, value).ok()?;
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};

    use super::super::{request_head as head, response_head};
    use super::*;

    /// Mostly heads: a start line, field lines and an end, most of them valid, sometimes with one byte changed.
    fn bytes(starts: &'static [&'static str]) -> impl Strategy<Value = Vec<u8>> {
        const LINES: &[&str] = &[
            "Host: a\r\n",
            "Host: localhost:8080\r\n",
            "Host: a b\r\n",
            "Host: a \r\n",
            "Host:  a\r\n",
            "Host:a\r\n",
            "Host: a\t\r\n",
            "User-Agent: curl/7.88.1 (long enough)\r\n",
            "Accept: */*\r\n",
            "A:b\r\n",
            "A: \r\n",
            "A:\r\n",
            "A: b\tc\r\n",
            "A: \u{e9}\r\n",
            "X_1: b\r\n",
            "A : b\r\n",
            ": b\r\n",
            "A: b\n",
            " c\r\n",
            "A: b\r",
            "A: \u{7f}\r\n",
            "A: b\0\r\n",
            "Content-Length: 2\r\n",
            "Content-Length: 3 \r\n",
            "Content-Length: x\r\n",
            "Connection: close\r\n",
            "Transfer-Encoding: chunked\r\n",
            "Expect: 100-continue\r\n",
            "Connection: keep-alive \r\n",
        ];
        const ENDS: &[&str] = &["\r\n", "\r\n", "\r\nrest", "\r\n\r\n", "\n", "\r", ""];
        let parts = (
            prop::sample::select(starts),
            vec(prop::sample::select(LINES), 0..4),
            prop::sample::select(ENDS),
            prop::option::weighted(0.2, (any::<prop::sample::Index>(), any::<u8>())),
        );
        parts.prop_map(|(start, lines, end, change)| {
            let mut bytes = [start, &lines.concat(), end].concat().into_bytes();
            if let Some((at, byte)) = change {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
            bytes
        })
    }

    const REQUESTS: &[&str] = &[
        "GET / HTTP/1.1\r\n",
        "GET / HTTP/1.0\r\n",
        "POST /a?b HTTP/1.1\r\n",
        "HEAD / HTTP/1.1\r\n",
        "PUT /#a HTTP/1.1\r\n",
        "GET /a b HTTP/1.1\r\n",
        "GET  / HTTP/1.1\r\n",
        "GET / HTTP/1.2\r\n",
        "GET /\u{e9} HTTP/1.1\r\n",
        "GET /a HTTP/1.1\n",
        "PUT /|\" HTTP/1.1\r\n",
    ];
    const REPLIES: &[&str] = &[
        "HTTP/1.1 200 OK\r\n",
        "HTTP/1.1 204 \r\n",
        "HTTP/1.1 204\r\n",
        "HTTP/1.1 100 Continue\r\n",
        "HTTP/1.1 999 \u{e9}\r\n",
        "HTTP/1.1 099 x\r\n",
        "HTTP/1.0 200 OK\r\n",
        "HTTP/1.1  200 OK\r\n",
        "HTTP/1.1 304 Not\tModified\r\n",
    ];

    fn limits() -> impl Strategy<Value = Limits> {
        prop_oneof![
            Just(Limits::default()),
            Just(Limits { head: 70, fields: 2, target: 3, body: 2, chunk_extensions: 1, trailers: 1, lenient: false }),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]

        #[test]
        fn requests_parse_as_in_the_full_parser(bytes in bytes(REQUESTS), limits in limits()) {
            let window = bytes.get(..limits.head).unwrap_or(&bytes);
            let mut framing = FramingHeaders::default();
            let fast = request(window, &limits, &mut framing).map(|(line, fields, end)| {
                head::decide(line, fields, &framing, &limits).map(|head| (format!("{head:?}"), end))
            });
            if let Some(fast) = fast {
                let full = head::parse_any(window, &limits).map(|parsed| match parsed {
                    head::Parsed::Head(head, end) => (format!("{head:?}"), end),
                    _ => panic!("the full parser finds it incomplete"),
                });
                prop_assert_eq!(fast, full);
            }
        }

        #[test]
        fn responses_parse_as_in_the_full_parser(bytes in bytes(REPLIES), limits in limits(), to_head: bool) {
            let window = bytes.get(..limits.head).unwrap_or(&bytes);
            let mut framing = FramingHeaders::default();
            let fast = response(window, &limits, &mut framing).map(|(line, fields, end)| {
                response_head::decide(line, fields, &framing, to_head, &limits).map(|head| (format!("{head:?}"), end))
            });
            if let Some(fast) = fast {
                let full = response_head::parse_any(window, to_head, &limits)
                    .map(|parsed| parsed.map(|(head, end)| (format!("{head:?}"), end)).expect("the full parser finds it complete"));
                prop_assert_eq!(fast, full);
            }
        }
    }

    #[test]
    fn common_heads_take_the_fast_path() {
        for text in [
            "GET / HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n\r\n",
            "GET /x HTTP/1.0\r\nConnection: Keep-Alive\r\nHost: a\r\nUser-Agent: ApacheBench/2.3\r\nAccept: */*\r\n\r\n",
            "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello",
        ] {
            assert!(request(text.as_bytes(), &Limits::SERVER, &mut FramingHeaders::default()).is_some(), "{text}");
        }
        let text = "HTTP/1.1 200 OK\r\nServer: brunt\r\nContent-Length: 5\r\n\r\nhello";
        assert!(response(text.as_bytes(), &Limits::CLIENT, &mut FramingHeaders::default()).is_some());
    }
}
