//! One connection of a loop: what to do when its socket is ready, in whichever set that was found. It owns no buffer, but
//! for what a client that does not read has left unsent.

use crate::{Service, report::is_failure};
use std::{
    io::{self, ErrorKind, Read, Write},
    net::TcpStream,
};

/// Bytes that a loop reads at once; one such buffer serves all its connections.
pub(crate) const BUFFER: usize = 64 << 10;

pub(crate) struct Connection {
    pub socket: TcpStream,
    unsent: Vec<u8>,
}

/// A connection is over: its socket is to be closed.
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
    /// Of a socket that does not block.
    pub fn new(socket: TcpStream) -> Self {
        Self { socket, unsent: Vec::new() }
    }

    /// Whether it waits for room to write, and not for something to read: a client that does not take its answers is
    /// not listened to, so that nothing piles up.
    pub fn wants_write(&self) -> bool {
        !self.unsent.is_empty()
    }

    /// One read and its answer, or one write of what was left; the rest waits until all others had their turn.
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

    /// Bytes that the socket took.
    fn send_now(&self, bytes: &[u8]) -> io::Result<usize> {
        Ok(may_wait((&self.socket).write(bytes))?.unwrap_or(0))
    }
}

/// Nothing, if the socket was not ready after all.
fn may_wait(result: io::Result<usize>) -> io::Result<Option<usize>> {
    match result {
        Ok(len) => Ok(Some(len)),
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Ok(None),
        Err(error) => Err(error),
    }
}
