//! URLs of probes and metrics, and one HTTP request at a time.

use super::invalid;
use crate::clock;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::time::Duration;

/// Most bytes of metrics.
const LONGEST: u64 = 16 << 20;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Url {
    pub address: SocketAddr,
    /// Host, port and path of HTTP; `None` of an echo over TCP.
    pub http: Option<(String, String)>,
}

impl Url {
    /// Reads a URL and looks its host up.
    pub fn parse(url: &str) -> io::Result<Self> {
        let wrong = || invalid(format!("'{url}' is not of the form http://HOST[:PORT]/PATH or tcp://HOST:PORT"));
        let (is_http, rest) = match url.split_once("://") {
            Some(("http", rest)) => (true, rest),
            Some(("tcp", rest)) => (false, rest.trim_end_matches('/')),
            Some(("https", _)) => return Err(invalid(format!("'{url}': https is not supported here; write http://"))),
            _ => return Err(wrong()),
        };
        let at = rest.find('/').unwrap_or(rest.len());
        let (host, path) = rest.split_at(at);
        let has_port = host.rfind(':').is_some_and(|colon| !host[colon..].contains(']'));
        if host.is_empty()
            || rest.contains(|c: char| !c.is_ascii_graphic())
            || !is_http && (!has_port || !path.is_empty())
        {
            return Err(wrong());
        }
        let named = if has_port { host.to_owned() } else { format!("{host}:80") };
        let mut addresses = named
            .to_socket_addrs()
            .map_err(|error| io::Error::new(error.kind(), format!("'{url}': cannot look up '{named}': {error}")))?;
        let address = addresses.next().ok_or_else(wrong)?;
        let path = if path.is_empty() { "/" } else { path };
        Ok(Self { address, http: is_http.then(|| (host.to_owned(), path.to_owned())) })
    }

    /// The request of a GET.
    pub fn request(&self, version: &str) -> Vec<u8> {
        let (host, path) = self.http.as_ref().map_or(("", "/"), |(host, path)| (host, path));
        format!("GET {path} HTTP/{version}\r\nHost: {host}\r\nUser-Agent: brunt\r\n\r\n").into_bytes()
    }

    /// The body of the reply to a GET, within this time.
    pub fn get(&self, timeout: Duration) -> io::Result<String> {
        let until = clock::now() + timeout;
        let late = || io::Error::new(io::ErrorKind::TimedOut, format!("no complete reply within {timeout:?}"));
        let mut stream = TcpStream::connect_timeout(&self.address, timeout)?;
        stream.set_write_timeout(Some(timeout))?;
        // HTTP/1.0 has no chunks: the body ends with the connection.
        stream.write_all(&self.request("1.0"))?;
        let (mut reply, mut chunk) = (Vec::new(), [0; 64 << 10]);
        loop {
            let left = until.checked_duration_since(clock::now()).filter(|left| !left.is_zero()).ok_or_else(late)?;
            stream.set_read_timeout(Some(left))?;
            match stream.read(&mut chunk) {
                Ok(0) => break,
                Ok(length) => reply.extend_from_slice(&chunk[..length]),
                Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                    return Err(late());
                }
                Err(error) => return Err(error),
            }
            if reply.len() as u64 > LONGEST || end_of(&reply).is_some_and(|end| reply.len() >= end) {
                break;
            }
        }
        let text = String::from_utf8_lossy(&reply).into_owned();
        let (head, body) = text.split_once("\r\n\r\n").ok_or_else(|| invalid("the reply is not HTTP"))?;
        match status(head.as_bytes()) {
            Some(200) => Ok(body.to_owned()),
            _ => Err(invalid(format!("the reply is '{}'", head.lines().next().unwrap_or_default()))),
        }
    }
}

/// Status of a reply that has begun.
pub fn status(reply: &[u8]) -> Option<u16> {
    let text = std::str::from_utf8(reply.get(..12)?).ok()?;
    text.strip_prefix("HTTP/1.")?.get(2..)?.parse().ok()
}

/// Length of a reply with its head, if the head is complete and says so.
pub fn end_of(reply: &[u8]) -> Option<usize> {
    let head = reply.windows(4).position(|bytes| bytes == b"\r\n\r\n")? + 4;
    let text = String::from_utf8_lossy(&reply[..head]).to_ascii_lowercase();
    let length = text.lines().find_map(|line| line.strip_prefix("content-length:"))?;
    Some(head + length.trim().parse::<usize>().ok()?)
}
