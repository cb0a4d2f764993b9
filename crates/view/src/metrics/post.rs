//! One POST on a connection of its own, within a time limit.

use super::{endpoint::Collector, timed};
use brunt_tls::{ClientConfig, ClientOptions, Connector, Session};
use brunt_wire::http1::client::{Connection, Event, Request};
use brunt_wire::http1::{Limits, Version};
use std::io;
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// Of a reply, the bytes of the body that are kept.
const MOST_BODY: usize = 16 << 10;

/// Why there is no reply.
#[derive(Debug)]
pub struct PostError {
    /// The request was not sent: to send it again does not make it count twice.
    pub unsent: bool,
    pub why: String,
}

#[derive(Debug, Default)]
pub struct Reply {
    pub status: u16,
    pub body: Vec<u8>,
}

/// Sends requests to one collector.
#[derive(Debug)]
pub struct Client {
    collector: Collector,
    tls: Option<Connector>,
}

impl Client {
    /// Reads the certificates of this machine for https://. The error is one line.
    pub fn new(collector: &Collector) -> Result<Self, String> {
        let connector = || ClientConfig::new(&ClientOptions::default())?.connector(collector.name());
        let tls = collector.tls.then(connector).transpose()?;
        Ok(Self { collector: collector.clone(), tls })
    }

    pub fn post(&self, body: &[u8], within: Duration) -> Result<Reply, PostError> {
        let until = Instant::now() + within;
        let said = |error: io::Error| match error.kind() {
            io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => format!("no answer within {within:?}"),
            _ => error.to_string(),
        };
        let failed = |unsent: bool| move |error: io::Error| PostError { unsent, why: said(error) };
        let mut wire = Wire::open(&self.collector, self.tls.as_ref(), until).map_err(failed(true))?;
        let mut out = Vec::new();
        let fields: [(&str, &[u8]); 2] = [("Content-Type", b"application/json"), ("User-Agent", b"brunt")];
        let (host, target) = (self.collector.authority.as_str(), self.collector.path.as_str());
        let request =
            Request { method: "POST", target, host, fields: &fields, version: Version::Http11, keep_alive: false };
        let mut connection = Connection::default();
        let sent = request.encode(&mut out, Some(body)).and_then(|sent| connection.sent(sent));
        sent.map_err(|error| PostError { unsent: true, why: error.to_string() })?;
        wire.send(&out, until).and_then(|()| wire.reply(&mut connection, until)).map_err(failed(false))
    }
}

/// A connection, with or without TLS.
struct Wire {
    stream: TcpStream,
    tls: Option<Session>,
}

impl Wire {
    fn open(collector: &Collector, tls: Option<&Connector>, until: Instant) -> io::Result<Self> {
        let mut last = io::Error::other("the host has no address");
        for address in collector.addresses()? {
            match TcpStream::connect_timeout(&address, timed::left(until)?) {
                Ok(stream) => {
                    stream.set_nodelay(true)?;
                    let mut wire = Self { stream, tls: None };
                    tls.map_or(Ok(()), |connector| wire.handshake(connector, until))?;
                    return Ok(wire);
                }
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    fn handshake(&mut self, connector: &Connector, until: Instant) -> io::Result<()> {
        let mut out = Vec::new();
        let mut session = Session::client(connector, &mut out)?;
        loop {
            timed::write(&self.stream, &out, until)?;
            if !session.is_handshaking() {
                self.tls = Some(session);
                return Ok(());
            }
            out.clear();
            let mut bytes = self.read(until)?;
            if bytes.is_empty() {
                return Err(io::Error::other("the collector closed within the TLS handshake"));
            }
            session.receive(&mut bytes, &mut Vec::new(), &mut out)?;
        }
    }

    fn send(&mut self, bytes: &[u8], until: Instant) -> io::Result<()> {
        let Some(session) = &mut self.tls else { return timed::write(&self.stream, bytes, until) };
        let mut records = Vec::new();
        session.encrypt(bytes, &mut records)?;
        timed::write(&self.stream, &records, until)
    }

    /// The next bytes of the reply; none at its end. With TLS also none where a record brings no plain text.
    fn receive(&mut self, until: Instant) -> io::Result<(Vec<u8>, bool)> {
        let mut bytes = self.read(until)?;
        let ended = bytes.is_empty();
        let Some(session) = &mut self.tls else { return Ok((bytes, ended)) };
        let (mut plain, mut out) = (Vec::new(), Vec::new());
        session.receive(&mut bytes, &mut plain, &mut out)?;
        let ended = ended || session.is_closed_by_peer();
        timed::write(&self.stream, &out, until)?;
        Ok((plain, ended))
    }

    fn reply(&mut self, connection: &mut Connection, until: Instant) -> io::Result<Reply> {
        let mut reply = Reply::default();
        loop {
            let (bytes, ended) = self.receive(until)?;
            let mut input = &bytes[..];
            while let Some(event) = connection.next(&mut input, &Limits::CLIENT) {
                if reply.take(event)? {
                    return Ok(reply);
                }
            }
            if ended {
                let is_whole = connection.eof().map(|event| reply.take(event)).transpose()?;
                let closed = || io::Error::other("the collector closed without an answer");
                return is_whole.filter(|is_whole| *is_whole).map(|_| reply).ok_or_else(closed);
            }
        }
    }

    fn read(&self, until: Instant) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; 16 << 10];
        let length = timed::read(&self.stream, &mut bytes, until)?;
        bytes.truncate(length);
        Ok(bytes)
    }
}

impl Reply {
    /// Takes a part of the reply; true at its end.
    fn take(&mut self, event: Event<'_>) -> io::Result<bool> {
        match event {
            Event::Head(head) => self.status = head.status,
            Event::Body(part) => {
                let room = MOST_BODY.saturating_sub(self.body.len());
                self.body.extend_from_slice(&part[..part.len().min(room)]);
            }
            Event::Interim(_) | Event::Trailers(_) => (),
            Event::End(_) => return Ok(true),
            Event::Error(error) => return Err(io::Error::other(format!("the answer is no valid HTTP/1: {error}"))),
        }
        Ok(false)
    }
}
