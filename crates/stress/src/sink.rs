//! Accepts TCP connections and discards what they send. Several threads may share a listener.

use crate::error::{StressError, failed};
use crate::resource::Worker;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{ErrorKind, Read};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

const LONGEST_WAIT: Duration = Duration::from_millis(50);

/// Time before the next attempt if a connection cannot be accepted, as without descriptors.
const BETWEEN_ATTEMPTS: Duration = Duration::from_millis(10);

/// Bytes read at once.
pub(crate) const READ: usize = 256 << 10;

/// Bound on the reads at the end, for senders that never stop: 256 MiB.
const LAST_STEPS: usize = 1024;

pub(crate) struct Sink<'a> {
    /// Does not block.
    listener: &'a TcpListener,
    connections: Vec<TcpStream>,
    block: Vec<u8>,
}

impl<'a> Sink<'a> {
    pub(crate) fn new(listener: &'a TcpListener) -> Self {
        Self { listener, connections: Vec::new(), block: vec![0; READ] }
    }

    /// Waits for at most this long, then reads once from each connection that is ready.
    fn receive(&mut self, wait: Duration) -> Result<u64, StressError> {
        let mut sources = vec![PollFd::new(self.listener, PollFlags::IN)];
        sources.extend(self.connections.iter().map(|connection| PollFd::new(connection, PollFlags::IN)));
        let wait = Timespec { tv_sec: wait.as_secs() as i64, tv_nsec: wait.subsec_nanos().into() };
        match poll(&mut sources, Some(&wait)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => (),
            Err(error) => return failed(format!("cannot wait for data: poll: {error}")),
        }
        let ready: Vec<bool> = sources.iter().map(|source| !source.revents().is_empty()).collect();
        let mut is_ready = ready[1..].iter();
        let (block, mut bytes) = (&mut self.block, 0);
        self.connections.retain_mut(|connection| {
            if is_ready.next() != Some(&true) {
                return true;
            }
            match connection.read(block) {
                Ok(0) => false,
                Ok(read) => {
                    bytes += read as u64;
                    true
                }
                Err(error) => matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted),
            }
        });
        if ready[0] {
            self.accept();
        }
        Ok(bytes)
    }

    fn accept(&mut self) {
        let accepted = self.listener.accept().and_then(|(stream, _)| {
            stream.set_nonblocking(true)?;
            Ok(stream)
        });
        match accepted {
            Ok(stream) => self.connections.push(stream),
            // Another thread was first.
            Err(error) if error.kind() == ErrorKind::WouldBlock => (),
            Err(_) => thread::sleep(BETWEEN_ATTEMPTS),
        }
    }
}

impl Worker for Sink<'_> {
    fn step(&mut self) -> Result<u64, StressError> {
        self.receive(LONGEST_WAIT)
    }

    /// Reads what has arrived.
    fn finish(&mut self) -> Result<u64, StressError> {
        let mut bytes = 0;
        for _ in 0..LAST_STEPS {
            match self.receive(Duration::ZERO)? {
                0 => break,
                received => bytes += received,
            }
        }
        Ok(bytes)
    }
}
