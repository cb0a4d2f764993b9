//! The mate's side: hears its parent and answers.

use crate::frame;
use serde::{Serialize, de::DeserializeOwned};
use std::{
    io,
    os::{
        fd::{AsFd, OwnedFd},
        unix::net::UnixStream,
    },
};

/// The parent of this process.
#[derive(Debug)]
pub struct Parent(UnixStream);

impl Parent {
    /// The parent whose socket is the standard input of this process.
    ///
    /// # Errors
    /// Standard input is no socket: nobody's mate was started.
    pub fn from_stdin() -> io::Result<Self> {
        let socket = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
        socket.peer_addr()?;
        Ok(Self(socket))
    }

    /// The same parent, for another thread.
    ///
    /// # Errors
    /// No file is left to open.
    pub fn try_clone(&self) -> io::Result<Self> {
        Ok(Self(self.0.try_clone()?))
    }

    /// The next message and the file that came with it, once there is one; `None` when the parent has ended.
    ///
    /// # Errors
    /// What came is not what was agreed on.
    pub fn recv<M: DeserializeOwned>(&self) -> io::Result<Option<(M, Option<OwnedFd>)>> {
        frame::read(&self.0)
    }

    /// Sends a message; waits while the parent has more to read than the kernel keeps. Must not be called by two threads at
    /// a time.
    ///
    /// # Errors
    /// The parent has ended.
    pub fn send(&self, message: &impl Serialize) -> io::Result<()> {
        frame::write(&self.0, message, None)
    }
}
