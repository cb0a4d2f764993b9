//! A line of an access log: common or combined format, as nginx and Apache write them, or JSON.

use super::request::{Request, request_line};
use super::{json, stamp::Stamp};

/// The request of a line; `None` if it is none.
pub(super) fn parse(line: &[u8]) -> Option<Request> {
    if line.starts_with(b"{") {
        return json::parse(line);
    }
    let (stamp, rest) = stamp(line)?;
    let start = rest.iter().position(|byte| *byte == b'"')? + 1;
    let (method, target) = request_line(&unescaped(&rest[start..]))?;
    Some(Request { stamp, method, target })
}

/// The time in brackets, and what is behind it.
fn stamp(line: &[u8]) -> Option<(Stamp, &[u8])> {
    let mut at = 0;
    loop {
        at += line[at..].iter().position(|byte| *byte == b'[')? + 1;
        let end = at + line[at..].iter().position(|byte| *byte == b']')?;
        // A user's name may have brackets.
        let stamp = std::str::from_utf8(&line[at..end]).ok().and_then(Stamp::parse);
        if let Some(stamp) = stamp {
            return Some((stamp, &line[end..]));
        }
    }
}

/// Up to the closing quote, with the bytes that escapes stand for (`\"`, `\\`, `\xHH`).
fn unescaped(text: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = text;
    loop {
        match rest {
            [] | [b'"', ..] => return bytes,
            [b'\\', b'x', high, low, more @ ..] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => {
                let digit = |digit: &u8| char::from(*digit).to_digit(16).unwrap_or_default();
                bytes.push((digit(high) * 16 + digit(low)) as u8);
                rest = more;
            }
            [b'\\', byte, more @ ..] => {
                bytes.push(*byte);
                rest = more;
            }
            [byte, more @ ..] => {
                bytes.push(*byte);
                rest = more;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(line: &str) -> Option<(String, String)> {
        parse(line.as_bytes()).map(|request| (request.method, request.target))
    }

    #[test]
    fn lines_of_servers_are_requests() {
        const TIME: &str = "[10/Oct/2000:13:55:36 -0700]";
        for (line, method, target) in [
            // Apache's documentation: common, combined; nginx: combined.
            (r#"127.0.0.1 - frank TIME "GET /apache_pb.gif HTTP/1.0" 200 2326"#, "GET", "/apache_pb.gif"),
            (
                r#"127.0.0.1 - frank TIME "GET /a?b=c HTTP/1.0" 200 2326 "http://www.example.com/start.html" "Mozilla/4.08 [en]""#,
                "GET",
                "/a?b=c",
            ),
            (r#"192.0.2.1 - - TIME "POST /a%20b HTTP/2.0" 201 0 "-" "curl/8.0" "192.0.2.7""#, "POST", "/a%20b"),
            (r#"host:80 ::1 - - TIME "HEAD / HTTP/1.1" 200 0"#, "HEAD", "/"),
            (r#"127.0.0.1 - a[b] TIME "GET /x HTTP/1.1" 200 1"#, "GET", "/x"),
            (r#"1.2.3.4 - - TIME "GET /\"q\"\\ HTTP/1.1" 200 1"#, "GET", r#"/"q"\"#),
            (r#"1.2.3.4 - - TIME "GET /\x22\xC3\xA9 HTTP/1.1" 200 1"#, "GET", r#"/"%C3%A9"#),
            (r#"1.2.3.4 - - TIME "GET /a b#c HTTP/1.1" 200 1"#, "GET", "/a%20b%23c"),
            (r#"1.2.3.4 - - TIME "GET http://a.example/x?y HTTP/1.1" 200 1"#, "GET", "/x?y"),
        ] {
            let line = line.replace("TIME", TIME);
            assert_eq!(told(&line), Some((method.to_owned(), target.to_owned())), "{line}");
        }
        for line in [
            "",
            "x",
            r#"1.2.3.4 - - TIME "-" 400 0"#,
            r#"1.2.3.4 - - TIME "" 408 0"#,
            r#"1.2.3.4 - - TIME "\x16\x03\x01\x02\x00\x01\x00\x01\xFC" 400 150"#,
            r#"1.2.3.4 - - TIME "CONNECT a:443 HTTP/1.1" 400 0"#,
            r#"1.2.3.4 - - TIME "PRI * HTTP/2.0" 400 0"#,
            r#"1.2.3.4 - - TIME "OPTIONS * HTTP/1.0" 200 0"#,
            r#"1.2.3.4 - - TIME "GET /" 200 0"#,
            r#"1.2.3.4 - - [yesterday] "GET / HTTP/1.1" 200 0"#,
            "1.2.3.4 - - TIME GET",
        ] {
            assert_eq!(told(&line.replace("TIME", TIME)), None, "{line}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_line_ends(line in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..200)) {
            let _ = parse(&line);
            let _ = parse(&[b"1 - - [10/Oct/2000:13:55:36 -0700] \"GET /", &line[..], b" HTTP/1.1\""].concat());
        }
    }
}
