//! An open HTTP connection: a socket, or TLS on one.

use super::{secure::Secure, talk::Talk};
use crate::engine::worker::Worker;
use runtime::net::TcpStream;
use std::io;

/// See the head of this file.
pub enum Link {
    /// In the clear.
    Plain(TcpStream),
    /// Boxed: connections in the clear do not carry room for it.
    Secret(Box<Secure>),
}

impl Link {
    /// Shakes hands on a fresh connection, if its host is one to do so with.
    pub(super) async fn on(stream: TcpStream, worker: &Worker<Talk>, index: u32) -> io::Result<Self> {
        let client = worker.core.borrow().protocol.client(worker.host(index) as u32);
        match client {
            None => Ok(Self::Plain(stream)),
            Some(client) => Box::pin(Secure::greet(stream, &client, worker)).await.map(Box::new).map(Self::Secret),
        }
    }

    /// The socket, with nothing more to be said on it.
    pub(super) fn into_socket(self) -> TcpStream {
        match self {
            Self::Plain(stream) => stream,
            Self::Secret(secure) => secure.into_socket(),
        }
    }
}
