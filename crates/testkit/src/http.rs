//! Plain HTTP/1.1 of tests: one request, one reply, byte by byte as given.

use crate::LIMIT;
use std::io::{BufRead, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};

/// A reply as it came.
#[derive(Debug, Clone)]
pub struct Reply {
    /// Of the status line.
    pub status: u16,
    /// Status line and fields, without the empty line.
    pub head: String,
    /// Without the framing of `Transfer-Encoding: chunked`.
    pub body: String,
}

impl Reply {
    /// The first field with this name, in any case.
    pub fn field(&self, name: &str) -> Option<&str> {
        let mut fields = self.head.lines().skip(1).filter_map(|line| line.split_once(':'));
        fields.find(|(field, _)| field.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
    }
}

/// The next head, with its empty line; `None` if the connection ends before it is whole.
pub fn read_head(input: &mut impl BufRead) -> Option<String> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if input.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    Some(head)
}

/// Sends these bytes on a new connection, and returns all that comes back until the server closes. A reset ends it too:
/// a server that refuses a request closes before it has read all of it.
#[track_caller]
pub fn exchange(address: impl ToSocketAddrs, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).expect("a connection");
    stream.set_read_timeout(Some(LIMIT)).expect("a read timeout");
    let _ = stream.write_all(bytes);
    let mut all = Vec::new();
    let _ = stream.read_to_end(&mut all);
    String::from_utf8_lossy(&all).into_owned()
}

/// The reply to `GET target` on a connection of its own.
#[track_caller]
pub fn get(address: &str, target: &str) -> Reply {
    let text =
        exchange(address, format!("GET {target} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").as_bytes());
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("GET {target}: no head in {text:?}"));
    let status = head.get(9..12).and_then(|status| status.parse().ok());
    let status = status.unwrap_or_else(|| panic!("GET {target}: no status in {head:?}"));
    let mut reply = Reply { status, head: head.to_owned(), body: body.to_owned() };
    if reply.field("transfer-encoding").is_some_and(|codings| codings.ends_with("chunked")) {
        reply.body = unchunked(body).unwrap_or_else(|| panic!("GET {target}: broken chunks in {body:?}"));
    }
    reply
}

/// The data of a whole chunked body (RFC 9112, 7.1).
fn unchunked(mut body: &str) -> Option<String> {
    let mut data = String::new();
    loop {
        let (size, rest) = body.split_once("\r\n")?;
        let size = usize::from_str_radix(size.split(';').next()?.trim(), 16).ok()?;
        if size == 0 {
            return Some(data);
        }
        data.push_str(rest.get(..size)?);
        body = rest.get(size..)?.strip_prefix("\r\n")?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::BufReader;

    #[test]
    fn chunks_are_joined_and_broken_ones_found() {
        assert_eq!(unchunked("3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n").as_deref(), Some("abcde"));
        assert_eq!(unchunked("3\r\nab\r\n0\r\n\r\n"), None);
    }

    #[test]
    fn a_head_is_read_to_its_empty_line() {
        let mut input = BufReader::new(&b"GET / HTTP/1.1\r\nHost: a\r\n\r\nbody"[..]);
        assert_eq!(read_head(&mut input).as_deref(), Some("GET / HTTP/1.1\r\nHost: a\r\n\r\n"));
        assert_eq!(read_head(&mut input), None);
    }
}
