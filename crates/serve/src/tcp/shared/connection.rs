//! One connection of an event loop. It owns no buffer except for output that the client does not read.

use crate::{Service, report::is_failure};
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;

/// Bytes read at once; a loop has one such buffer for all connections.
pub(crate) const BUFFER: usize = 64 << 10;

pub(crate) struct Connection {
    pub socket: TcpStream,
    unsent: Vec<u8>,
}

/// The connection has ended; close its socket.
#[derive(Debug)]
pub(crate) struct Closed {
    pub failed: bool,
}

impl From<io::Error> for Closed {
    fn from(error: io::Error) -> Self {
        Self { failed: is_failure(&error) }
    }
}

impl Connection {
    /// Takes a non-blocking socket.
    pub fn new(socket: TcpStream) -> Self {
        Self { socket, unsent: Vec::new() }
    }

    /// Whether it waits to write. Meanwhile it does not read, so that output does not accumulate.
    pub fn wants_write(&self) -> bool {
        !self.unsent.is_empty()
    }

    /// Does one read and its response, or one write of unsent output, then lets other connections have their turn.
    pub fn turn(&mut self, buffer: &mut [u8], service: Service) -> Result<(), Closed> {
        if self.wants_write() {
            let sent = self.send_now(&self.unsent)?;
            self.unsent.drain(..sent);
            if self.unsent.is_empty() {
                self.unsent = Vec::new();
            }
            return Ok(());
        }
        let Some(len) = may_wait(self.socket.read(buffer))? else { return Ok(()) };
        if len == 0 {
            return Err(Closed { failed: false });
        }
        let Service::Echo(work) = service else { return Ok(()) };
        work.block();
        let sent = self.send_now(&buffer[..len])?;
        self.unsent.extend_from_slice(&buffer[sent..len]);
        Ok(())
    }

    /// Returns the number of bytes written.
    fn send_now(&self, bytes: &[u8]) -> io::Result<usize> {
        Ok(may_wait((&self.socket).write(bytes))?.unwrap_or(0))
    }
}

/// `None` if the socket was not ready.
fn may_wait(result: io::Result<usize>) -> io::Result<Option<usize>> {
    match result {
        Ok(len) => Ok(Some(len)),
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Ok(None),
        Err(error) => Err(error),
    }
}
