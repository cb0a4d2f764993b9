//! The worker's side of the socket.

use crate::frame;
use serde::{Serialize, de::DeserializeOwned};
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::{os::unix::net::UnixStream, process, thread::Builder};

/// Byte that a worker sends once it runs.
pub(crate) const HELLO: u8 = b'H';

/// The parent of this process.
#[derive(Debug)]
pub struct Parent(UnixStream);

impl Parent {
    /// Connects to the parent over standard input, which must be a connected socket, and reports that this worker runs.
    pub fn from_stdin() -> io::Result<Self> {
        let socket = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
        socket.peer_addr()?;
        (&socket).write_all(&[HELLO])?;
        Ok(Self(socket))
    }

    /// Waits for the next message and the file that came with it; `None` once the parent has ended.
    pub fn recv<M: DeserializeOwned>(&self) -> io::Result<Option<(M, Option<OwnedFd>)>> {
        frame::read(&self.0)
    }

    /// Passes all further messages to `handle`, on a thread of its own. Ends the process when the parent ends or sends
    /// something else: without a parent, its connections serve no purpose.
    pub fn handle_messages<M: DeserializeOwned>(&self, mut handle: impl FnMut(M) + Send + 'static) -> io::Result<()> {
        let parent = Self(self.0.try_clone()?);
        Builder::new().name("orders".to_owned()).spawn(move || {
            while let Ok(Some((message, _))) = parent.recv() {
                handle(message);
            }
            process::exit(1);
        })?;
        Ok(())
    }

    /// Sends a message; blocks while the socket's buffer is full. Must not be called by two threads at a time.
    pub fn send(&self, message: &impl Serialize) -> io::Result<()> {
        frame::write(&self.0, message, None)
    }
}
