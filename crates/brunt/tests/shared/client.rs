//! A client with full control over the bytes it sends.

use super::server::{PATIENCE, Server, read};
use brunt_testkit::{Home, home, until_some};
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::process::Command;
use std::time::Duration;

/// `brunt serve http --listen 127.0.0.1:0 --model MODEL FLAGS`.
#[track_caller]
pub fn start(model: &str, flags: &str) -> Server {
    Server::start(command(&format!("--listen 127.0.0.1:0 --model {model} {flags}")))
}

/// `brunt serve http FLAGS`, flags separated by blanks.
pub fn command(flags: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_brunt"));
    command.args(["serve", "http"]).args(flags.split_whitespace());
    command
}

/// A server with these routes, and the directory with their file `routes.toml`.
#[track_caller]
pub fn start_routes(model: &str, routes: &str, flags: &str) -> (Server, Home) {
    let directory = home();
    let file = directory.path().join("routes.toml");
    std::fs::write(&file, routes).unwrap();
    (start(model, &format!("--routes {} {flags}", file.display())), directory)
}

#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: Vec<u8>,
}

impl Answer {
    /// The value of a header.
    pub fn field(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (own, value) = line.split_once(": ")?;
            own.eq_ignore_ascii_case(name).then_some(value)
        })
    }

    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }
}

pub struct Client {
    stream: TcpStream,
    /// Received bytes not yet parsed.
    left: Vec<u8>,
}

impl Client {
    #[track_caller]
    pub fn connect(address: SocketAddr) -> Self {
        Self::try_connect(address).expect("it is reset")
    }

    /// `None` if the server resets the connection at once.
    #[track_caller]
    pub fn try_connect(address: SocketAddr) -> Option<Self> {
        let stream = match TcpStream::connect(address) {
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => return None,
            stream => stream.unwrap(),
        };
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        Some(Self { stream, left: Vec::new() })
    }

    #[track_caller]
    pub fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.stream.write_all(bytes.as_ref()).unwrap();
    }

    /// As `send`, ignoring errors of a closed connection.
    pub fn try_send(&mut self, bytes: impl AsRef<[u8]>) -> bool {
        self.stream.write_all(bytes.as_ref()).is_ok()
    }

    /// Shuts down the sending side.
    pub fn end(&mut self) {
        self.stream.shutdown(Shutdown::Write).unwrap();
    }

    #[track_caller]
    pub fn get(&mut self, target: &str) -> Answer {
        self.send(format!("GET {target} HTTP/1.1\r\nHost: a\r\n\r\n"));
        self.answer()
    }

    #[track_caller]
    pub fn post(&mut self, target: &str, body: &[u8]) -> Answer {
        self.send(format!("POST {target} HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n", body.len()));
        self.send(body);
        self.answer()
    }

    /// The next response, to a request other than HEAD.
    #[track_caller]
    pub fn answer(&mut self) -> Answer {
        let mut answer = self.head();
        let length = answer.field("Content-Length").map(|length| length.parse().unwrap());
        match (length, answer.field("Transfer-Encoding")) {
            (Some(length), None) => answer.body = self.take(length),
            (None, Some("chunked")) => loop {
                let line = self.line();
                let size = usize::from_str_radix(line.trim_end(), 16).unwrap();
                answer.body.extend(self.take(size));
                assert_eq!(self.line(), "\r\n");
                if size == 0 {
                    break;
                }
            },
            (None, None) if matches!(answer.status, 100..=199 | 204 | 304) => {}
            (None, None) => answer.body = self.rest(),
            both => panic!("{both:?}: {}", answer.head),
        }
        answer
    }

    /// The head of the next response.
    #[track_caller]
    pub fn head(&mut self) -> Answer {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            let line = self.line();
            assert!(line.ends_with('\n'), "closed within a head: {head}{line}");
            head += &line;
        }
        let status = head.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..3)?.parse().ok());
        Answer { status: status.unwrap_or_else(|| panic!("no status: {head}")), head, body: Vec::new() }
    }

    fn line(&mut self) -> String {
        loop {
            if let Some(end) = self.left.iter().position(|byte| *byte == b'\n') {
                return String::from_utf8(self.left.drain(..=end).collect()).unwrap();
            }
            if !self.more() {
                return String::from_utf8(std::mem::take(&mut self.left)).unwrap();
            }
        }
    }

    #[track_caller]
    fn take(&mut self, length: usize) -> Vec<u8> {
        while self.left.len() < length {
            assert!(self.more(), "closed within a body: {} of {length} bytes", self.left.len());
        }
        self.left.drain(..length).collect()
    }

    fn more(&mut self) -> bool {
        let mut buffer = [0; 65_536];
        let count = read(&mut self.stream, &mut buffer);
        self.left.extend_from_slice(&buffer[..count]);
        count > 0
    }

    /// Waits until the metrics contain all these lines: a server may answer before it counts.
    #[track_caller]
    pub fn metrics(&mut self, lines: &[String]) -> Answer {
        until_some(&format!("{lines:?} are in the metrics"), || {
            let answer = self.get("/metrics");
            lines.iter().all(|line| answer.text().lines().any(|own| own == *line)).then_some(answer)
        })
    }

    /// Everything until the server closes.
    #[track_caller]
    pub fn rest(&mut self) -> Vec<u8> {
        while self.more() {}
        std::mem::take(&mut self.left)
    }

    /// True if the server resets the connection, and the bytes before.
    pub fn reset(&mut self) -> (bool, Vec<u8>) {
        let mut received = std::mem::take(&mut self.left);
        let result = self.stream.read_to_end(&mut received);
        (result.is_err_and(|error| error.kind() == std::io::ErrorKind::ConnectionReset), received)
    }

    /// True if nothing arrives for this long.
    pub fn is_silent(&mut self, time: Duration) -> bool {
        self.stream.set_read_timeout(Some(time)).unwrap();
        let result = brunt_testkit::uninterrupted(|| self.stream.peek(&mut [0]));
        self.stream.set_read_timeout(Some(PATIENCE)).unwrap();
        result.is_err_and(|error| matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut))
    }
}
