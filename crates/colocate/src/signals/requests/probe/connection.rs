//! A connection of a probe that never blocks: connecting, sending and receiving go on when the kernel is ready.

use super::super::get::Url;
use brunt_wire::http1::client::{Connection as Parser, Event};
use brunt_wire::http1::{Body, Limits, Persistence};
use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, socket_with, sockopt};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};

const MESSAGE: [u8; 64] = [b'p'; 64];
/// Of a reply.
const LIMITS: Limits = Limits { body: 16 << 20, ..Limits::CLIENT };
/// First status that is a failure.
const FAILURES: u16 = 400;

#[derive(Debug)]
pub struct Connection {
    stream: TcpStream,
    is_open: bool,
    out: Vec<u8>,
    written: usize,
    /// Of HTTP.
    parser: Parser,
    /// Bytes that have come of an echo.
    echoed: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Pending,
    Complete { stays_open: bool },
}

impl Connection {
    pub fn open(address: SocketAddr) -> io::Result<Self> {
        let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let socket = socket_with(family, SocketType::STREAM, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC, None)?;
        sockopt::set_tcp_nodelay(&socket, true)?;
        match connect(&socket, &address) {
            Ok(()) | Err(Errno::INPROGRESS) => (),
            Err(error) => return Err(error.into()),
        }
        let stream = TcpStream::from(socket);
        Ok(Self { stream, is_open: false, out: Vec::new(), written: 0, parser: Parser::default(), echoed: 0 })
    }

    /// Itself, unless the service has closed it or says something that was not asked for.
    pub fn still_open(mut self) -> Option<Self> {
        let unread = self.stream.read(&mut [0]);
        unread.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock).then_some(self)
    }

    /// Begins a request, after the reply to the one before.
    pub fn send(&mut self, url: &Url) -> io::Result<()> {
        (self.written, self.echoed) = (0, 0);
        self.out.clear();
        match url.http {
            Some(_) => {
                let sent = url.request(&mut self.out).and_then(|sent| self.parser.sent(sent));
                sent.map_err(io::Error::other)?;
            }
            None => self.out.extend(MESSAGE),
        }
        if self.is_open { self.write() } else { Ok(()) }
    }

    /// What to wait for.
    pub fn awaited(&self) -> PollFd<'_> {
        let is_sent = self.written == self.out.len();
        PollFd::new(&self.stream, if is_sent { PollFlags::IN } else { PollFlags::OUT })
    }

    /// Goes on as far as the kernel allows.
    pub fn progress(&mut self, url: &Url) -> io::Result<Outcome> {
        if !self.is_open {
            if let Some(error) = self.stream.take_error()? {
                return Err(error);
            }
            if self.stream.peer_addr().is_err() {
                return Ok(Outcome::Pending);
            }
            self.is_open = true;
        }
        self.write()?;
        let mut chunk = [0; 16 << 10];
        loop {
            let outcome = match self.stream.read(&mut chunk) {
                Ok(length) if url.http.is_none() => self.echo(&chunk[..length])?,
                Ok(length) => self.reply(&chunk[..length])?,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(Outcome::Pending),
                Err(error) => return Err(error),
            };
            if let Some(outcome) = outcome {
                return Ok(outcome);
            }
        }
    }

    fn write(&mut self) -> io::Result<()> {
        while self.written < self.out.len() {
            match self.stream.write(&self.out[self.written..]) {
                Ok(length) => self.written += length,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Takes bytes of an echo; none at its end.
    fn echo(&mut self, bytes: &[u8]) -> io::Result<Option<Outcome>> {
        if bytes.is_empty() {
            return Err(closed());
        }
        let expected = MESSAGE.get(self.echoed..self.echoed + bytes.len());
        if expected.is_none_or(|expected| expected != bytes) {
            return Err(wrong("the reply is not what was sent"));
        }
        self.echoed += bytes.len();
        Ok((self.echoed == MESSAGE.len()).then_some(Outcome::Complete { stays_open: true }))
    }

    /// Takes bytes of a reply of HTTP; none at its end.
    fn reply(&mut self, mut bytes: &[u8]) -> io::Result<Option<Outcome>> {
        if bytes.is_empty() {
            return match self.parser.eof() {
                Some(Event::End(_)) => Ok(Some(Outcome::Complete { stays_open: false })),
                _ => Err(closed()),
            };
        }
        while let Some(event) = self.parser.next(&mut bytes, &LIMITS) {
            if let Some(outcome) = Self::outcome(event)? {
                return Ok(Some(outcome));
            }
        }
        Ok(None)
    }

    /// Whether the reply is complete. One whose length is not given up front is complete with its head, and its connection is not
    /// used again.
    fn outcome(event: Event<'_>) -> io::Result<Option<Outcome>> {
        Ok(match event {
            Event::Head(head) if head.status >= FAILURES => {
                return Err(wrong(&format!("the reply has status {}", head.status)));
            }
            Event::Head(head) if matches!(head.body, Body::Chunked | Body::UntilClose) => {
                Some(Outcome::Complete { stays_open: false })
            }
            Event::End(persistence) => Some(Outcome::Complete { stays_open: persistence == Persistence::Keep }),
            Event::Error(error) => return Err(wrong(&format!("the reply is not HTTP: {error}"))),
            Event::Head(_) | Event::Interim(_) | Event::Body(_) | Event::Trailers(_) => None,
        })
    }
}

fn closed() -> io::Error {
    io::Error::new(io::ErrorKind::ConnectionReset, "the connection was closed without a reply")
}

fn wrong(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}
