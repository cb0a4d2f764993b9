//! HTTP/1 exchanges one at a time, each on a connection of its own and within a time limit: requests that measure nothing, such as
//! those for metrics.
//!
//! The thread waits. Messages are those of `brunt_wire`, sessions those of `brunt_tls`.
#![forbid(unsafe_code)]
#![allow(missing_docs, reason = "not published")]

mod connection;
mod deadline;

use brunt_tls::{ClientConfig, ClientOptions, Connector};
use brunt_wire::http1::client::{Connection as Parser, Event, Request};
use brunt_wire::http1::{Limits, Version};
use connection::Connection;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::time::{Duration, Instant};

/// Why there is no reply.
#[derive(Debug)]
pub struct Failure {
    /// The request was not sent: to send it again does not make it count twice.
    pub is_unsent: bool,
    pub why: String,
}

#[derive(Debug, Default)]
pub struct Reply {
    pub status: u16,
    /// The reason phrase; may be empty.
    pub reason: String,
    pub body: Vec<u8>,
}

/// A request without the fields that its server and its body decide.
#[derive(Debug, Clone, Copy)]
pub struct Call<'a> {
    pub method: &'a str,
    /// Path and query.
    pub target: &'a str,
    pub fields: &'a [(&'a str, &'a [u8])],
    pub body: Option<&'a [u8]>,
    /// Bytes of the body of the reply that are kept; those behind them are not read.
    pub most: usize,
}

/// Sends requests to one server.
#[derive(Debug)]
pub struct Client {
    host: String,
    port: u16,
    /// Value of `Host`.
    authority: String,
    tls: Option<Connector>,
}

impl Client {
    /// A client of `http://`. The host is a name, looked up for each request, or an address.
    pub fn plain(host: String, port: u16, authority: String) -> Self {
        Self { host, port, authority, tls: None }
    }

    /// A client of `https://`, which trusts the authorities of this machine; they are read here. The error is one line.
    pub fn secure(host: String, port: u16, authority: String) -> Result<Self, String> {
        let tls = ClientConfig::new(&ClientOptions::default())?.connector(&host)?;
        Ok(Self { tls: Some(tls), ..Self::plain(host, port, authority) })
    }

    /// Sends a request and waits for its reply.
    ///
    /// # Errors
    /// There is no connection, or no whole reply within the time.
    pub fn send(&self, call: &Call<'_>, within: Duration) -> Result<Reply, Failure> {
        let until = Instant::now() + within;
        let said = |error: io::Error| match error.kind() {
            io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => format!("no answer within {within:?}"),
            _ => error.to_string(),
        };
        let failed = |is_unsent: bool| move |error: io::Error| Failure { is_unsent, why: said(error) };
        let Call { method, target, fields, body, most } = *call;
        let host = self.authority.as_str();
        let request = Request { method, target, host, fields, version: Version::Http11, keep_alive: false };
        let (mut out, mut parser) = (Vec::new(), Parser::default());
        let sent = request.encode(&mut out, body).and_then(|sent| parser.sent(sent));
        sent.map_err(|error| Failure { is_unsent: true, why: error.to_string() })?;
        let addresses = self.addresses().map_err(failed(true))?;
        let mut connection = Connection::open(&addresses, self.tls.as_ref(), until).map_err(failed(true))?;
        let reply = connection.send(&out, until).and_then(|()| reply(&mut connection, &mut parser, most, until));
        reply.map_err(failed(false))
    }

    fn addresses(&self) -> io::Result<Vec<SocketAddr>> {
        Ok((self.host.as_str(), self.port).to_socket_addrs()?.collect())
    }
}

fn reply(connection: &mut Connection, parser: &mut Parser, most: usize, until: Instant) -> io::Result<Reply> {
    let mut reply = Reply::default();
    loop {
        let (bytes, ended) = connection.receive(until)?;
        let mut input = &bytes[..];
        while let Some(event) = parser.next(&mut input, &Limits::CLIENT) {
            if reply.take(event, most)? {
                return Ok(reply);
            }
        }
        if ended {
            // A body can end with the connection.
            return match parser.eof() {
                Some(Event::End(_)) => Ok(reply),
                _ => Err(io::Error::other("the connection was closed without a whole answer")),
            };
        }
    }
}

impl Reply {
    /// Takes a part of the reply; true if no more is wanted.
    fn take(&mut self, event: Event<'_>, most: usize) -> io::Result<bool> {
        match event {
            Event::Head(head) => (self.status, self.reason) = (head.status, head.reason().to_owned()),
            Event::Body(part) => {
                let room = most.saturating_sub(self.body.len());
                self.body.extend_from_slice(&part[..part.len().min(room)]);
                return Ok(part.len() > room);
            }
            Event::Interim(_) | Event::Trailers(_) => (),
            Event::End(_) => return Ok(true),
            Event::Error(error) => return Err(io::Error::other(format!("the answer is no valid HTTP/1: {error}"))),
        }
        Ok(false)
    }
}

#[cfg(test)]
mod tests;
