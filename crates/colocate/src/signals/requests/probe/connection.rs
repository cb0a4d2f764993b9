//! A connection of a probe that never blocks: connecting, sending and receiving go on when the kernel is ready.

use super::super::get::{Url, end_of, status};
use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, socket_with, sockopt};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};

const MESSAGE: [u8; 64] = [b'p'; 64];
const LONGEST: usize = 16 << 20;
/// First status that is a failure.
const FAILURES: u16 = 400;

#[derive(Debug)]
pub struct Connection {
    stream: TcpStream,
    is_open: bool,
    out: Vec<u8>,
    written: usize,
    reply: Vec<u8>,
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
        Ok(Self { stream, is_open: false, out: Vec::new(), written: 0, reply: Vec::new() })
    }

    /// Itself, unless the service has closed it or says something that was not asked for.
    pub fn still_open(mut self) -> Option<Self> {
        let unread = self.stream.read(&mut [0]);
        unread.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock).then_some(self)
    }

    /// Begins a request, after the reply to the one before.
    pub fn send(&mut self, url: &Url) -> io::Result<()> {
        self.out = if url.http.is_some() { url.request("1.1") } else { MESSAGE.to_vec() };
        (self.written, self.reply) = (0, Vec::new());
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
            match self.stream.read(&mut chunk) {
                Ok(0) => return self.at_end(url),
                Ok(length) => self.reply.extend_from_slice(&chunk[..length]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(Outcome::Pending),
                Err(error) => return Err(error),
            }
            if self.reply.len() > LONGEST {
                return Err(wrong("the reply is longer than 16 MiB"));
            }
            if let Some(outcome) = self.outcome(url)? {
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

    /// Whether the reply is complete. One of HTTP whose length is not given up front is complete with its head, and its
    /// connection is not used again.
    fn outcome(&self, url: &Url) -> io::Result<Option<Outcome>> {
        if url.http.is_none() {
            let expected = &MESSAGE[..self.reply.len().min(MESSAGE.len())];
            return match self.reply == expected {
                true => Ok((self.reply.len() == MESSAGE.len()).then_some(Outcome::Complete { stays_open: true })),
                false => Err(wrong("the reply is not what was sent")),
            };
        }
        let Some(head) = self.reply.windows(4).position(|bytes| bytes == b"\r\n\r\n") else { return Ok(None) };
        match status(&self.reply) {
            None => return Err(wrong("the reply is not HTTP")),
            Some(status) if status >= FAILURES => return Err(wrong(&format!("the reply has status {status}"))),
            Some(_) => (),
        }
        let closes = String::from_utf8_lossy(&self.reply[..head]).to_ascii_lowercase().contains("connection: close");
        Ok(match end_of(&self.reply) {
            None => Some(Outcome::Complete { stays_open: false }),
            Some(end) if self.reply.len() >= end => Some(Outcome::Complete { stays_open: !closes }),
            Some(_) => None,
        })
    }

    fn at_end(&self, url: &Url) -> io::Result<Outcome> {
        match self.outcome(url)? {
            Some(_) => Ok(Outcome::Complete { stays_open: false }),
            None => Err(io::Error::new(io::ErrorKind::ConnectionReset, "the connection was closed without a reply")),
        }
    }
}

fn wrong(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}
