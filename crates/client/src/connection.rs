//! A connection, with or without TLS.

use crate::deadline;
use brunt_tls::{Connector, Session};
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::time::Instant;

pub struct Connection {
    stream: TcpStream,
    tls: Option<Session>,
}

impl Connection {
    /// Connects to the first address that accepts.
    pub fn open(addresses: &[SocketAddr], tls: Option<&Connector>, until: Instant) -> io::Result<Self> {
        let mut last = io::Error::other("the host has no address");
        for address in addresses {
            match TcpStream::connect_timeout(address, deadline::left(until)?) {
                Ok(stream) => {
                    stream.set_nodelay(true)?;
                    let mut connection = Self { stream, tls: None };
                    tls.map_or(Ok(()), |connector| connection.handshake(connector, until))?;
                    return Ok(connection);
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
            deadline::write(&self.stream, &out, until)?;
            if !session.is_handshaking() {
                self.tls = Some(session);
                return Ok(());
            }
            out.clear();
            let mut bytes = self.read(until)?;
            if bytes.is_empty() {
                return Err(io::Error::other("the connection was closed within the TLS handshake"));
            }
            session.receive(&mut bytes, &mut Vec::new(), &mut out)?;
        }
    }

    pub fn send(&mut self, bytes: &[u8], until: Instant) -> io::Result<()> {
        let Some(session) = &mut self.tls else { return deadline::write(&self.stream, bytes, until) };
        let mut records = Vec::new();
        session.encrypt(bytes, &mut records)?;
        deadline::write(&self.stream, &records, until)
    }

    /// The next bytes of the reply, and whether they are the last. With TLS a record may bring no plain text.
    pub fn receive(&mut self, until: Instant) -> io::Result<(Vec<u8>, bool)> {
        let mut bytes = self.read(until)?;
        let ended = bytes.is_empty();
        let Some(session) = &mut self.tls else { return Ok((bytes, ended)) };
        let (mut plain, mut out) = (Vec::new(), Vec::new());
        session.receive(&mut bytes, &mut plain, &mut out)?;
        let ended = ended || session.is_closed_by_peer();
        deadline::write(&self.stream, &out, until)?;
        Ok((plain, ended))
    }

    fn read(&self, until: Instant) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; 16 << 10];
        let length = deadline::read(&self.stream, &mut bytes, until)?;
        bytes.truncate(length);
        Ok(bytes)
    }
}
