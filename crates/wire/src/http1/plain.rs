//! The plain shape that nearly every head comes in, read in one pass: single spaces, CRLF, no white space to trim, no empty
//! value. A third of the work of reading it in general, which is the half of what answering a small request takes.
//!
//! Must never decide anything: what is not plain, not whole or not right is `None` here, and `httparse` and the checks
//! behind it say what it is. A test holds the two against each other.

use super::{Fields, Limits, MAX_FIELDS, Method, Version, facts::Facts, head, reply, scan, target};

/// A request head that is plain, and where it ends.
#[inline(always)]
pub(super) fn request<'a>(window: &'a [u8], limits: &Limits) -> Option<(head::Line<'a>, Fields<'a>, Facts<'a>, usize)> {
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
    let version = match rest.first_chunk()? {
        b" HTTP/1.1\r\n" => Version::Http11,
        b" HTTP/1.0\r\n" => Version::Http10,
        _ => return None,
    };
    let line = head::Line { method, method_name, target, version, authority: None };
    let (fields, facts, length) = fields(&rest[11..], limits)?;
    Some((line, fields, facts, method_name.len() + 1 + target.len() + 11 + length))
}

/// A response head that is plain, and where it ends.
#[inline]
pub(super) fn reply<'a>(window: &'a [u8], limits: &Limits) -> Option<(reply::Line<'a>, Fields<'a>, Facts<'a>, usize)> {
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
    if !behind.starts_with(b"\r\n") || !reason.is_ascii() {
        return None;
    }
    let line = reply::Line { status, reason, version: Version::Http11 };
    let (fields, facts, length) = fields(&behind[2..], limits)?;
    Some((line, fields, facts, 13 + reason.len() + 2 + length))
}

/// Field lines down to the empty one.
#[inline(never)]
fn fields<'a>(block: &'a [u8], limits: &Limits) -> Option<(Fields<'a>, Facts<'a>, usize)> {
    let mut facts = Facts::default();
    let mut rest = block;
    for _ in 0..=limits.fields.min(MAX_FIELDS) {
        if rest.starts_with(b"\r\n") {
            let length = block.len() - rest.len();
            // As the general way has it: no fields are no block.
            let block = if length == 0 { &[] } else { &block[..length + 2] };
            return Some((Fields::from_first_line(block), facts, length + 2));
        }
        let (name, line) = rest.split_at(scan::token(rest));
        let line = line.strip_prefix(b": ")?;
        let (value, behind) = line.split_at(scan::text(line));
        if name.is_empty() || value.is_empty() || value.starts_with(b" ") || value.ends_with(b" ") {
            return None;
        }
        rest = behind.strip_prefix(b"\r\n")?;
        facts.note(name, value).ok()?;
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};

    use super::*;

    fn bytes() -> impl Strategy<Value = Vec<u8>> {
        let known = prop::sample::select(vec![
            "GET /",
            "GET / HTTP/1.1\r\n",
            "GET /",
            "HEAD / HTTP/1.0\r\n",
            "POST /a?b HTTP/1.1\r\n",
            "PUT ",
            "/x",
            " ",
            "#",
            " HTTP/1.1\r\n",
            " HTTP/1.0\r\n",
            "HTTP/1.1 200 OK\r\n",
            "HTTP/1.1 204 \r\n",
            "HTTP/1.1 099 x\r\n",
            "HTTP/1.1 1",
            "HTTP/1.0 200 OK\r\n",
            "Host: a\r\n",
            "Host: localhost:8080\r\n",
            "Host: a b\r\n",
            "User-Agent: curl/7.88.1 (long enough)\r\n",
            "Accept: */*\r\n",
            "A:b\r\n",
            "A: \r\n",
            "A:  b\r\n",
            "A: b \r\n",
            "A: b\tc\r\n",
            "A: \u{e9}\r\n",
            "A : b\r\n",
            ": b\r\n",
            "A: b\n",
            " c\r\n",
            "A: b\r",
            "Content-Length: 3\r\n",
            "Content-Length: x\r\n",
            "Transfer-Encoding: chunked\r\n",
            "Connection: close\r\n",
            "Expect: 100-continue\r\n",
            "Connection: keep-alive\r\n",
            "A: \u{7f}\r\n",
            "A: b\0\r\n",
            "\r\n",
            "\r\n\r\n",
            "rest",
        ]);
        vec(prop_oneof![12 => known.prop_map(|text| text.as_bytes().to_vec()), 1 => vec(any::<u8>(), 0..9)], 1..9)
            .prop_map(|parts| parts.concat())
    }

    fn limits() -> impl Strategy<Value = Limits> {
        prop_oneof![
            Just(Limits::default()),
            Just(Limits { head: 70, fields: 2, target: 3, body: 2, chunk_extensions: 1, trailers: 1 }),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]

        #[test]
        fn what_is_plain_is_read_as_in_general(bytes in bytes(), limits in limits()) {
            let window = bytes.get(..limits.head).unwrap_or(&bytes);
            let plainly = request(window, &limits).map(|(line, fields, facts, end)| {
                head::decide(line, fields, &facts, &limits).map(|head| (format!("{head:?}"), end))
            });
            if let Some(plainly) = plainly {
                let generally = head::parse_any(window, &limits).map(|parsed| match parsed {
                    head::Parsed::Head(head, end) => (format!("{head:?}"), end),
                    _ => panic!("plain and yet not whole"),
                });
                prop_assert_eq!(plainly, generally);
            }
        }

        #[test]
        fn what_is_a_plain_reply_is_read_as_in_general(bytes in bytes(), limits in limits(), to_head: bool) {
            let window = bytes.get(..limits.head).unwrap_or(&bytes);
            let plainly = reply(window, &limits).map(|(line, fields, facts, end)| {
                reply::decide(line, fields, &facts, to_head, &limits).map(|head| (format!("{head:?}"), end))
            });
            if let Some(plainly) = plainly {
                let generally = reply::parse_any(window, to_head, &limits)
                    .map(|parsed| parsed.map(|(head, end)| (format!("{head:?}"), end)).expect("plain and yet not whole"));
                prop_assert_eq!(plainly, generally);
            }
        }
    }

    #[test]
    fn what_clients_and_servers_send_is_plain() {
        for text in [
            "GET / HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n\r\n",
            "GET /x HTTP/1.0\r\nConnection: Keep-Alive\r\nHost: a\r\nUser-Agent: ApacheBench/2.3\r\nAccept: */*\r\n\r\n",
            "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello",
        ] {
            assert!(request(text.as_bytes(), &Limits::SERVER).is_some(), "{text}");
        }
        let text = "HTTP/1.1 200 OK\r\nServer: brunt\r\nContent-Length: 5\r\n\r\nhello";
        assert!(reply(text.as_bytes(), &Limits::CLIENT).is_some());
    }
}
