//! An open HTTP connection: a socket, or TLS on one.

use super::{HttpProtocol, secure::Secure};
use crate::engine::worker::Worker;
use brunt_runtime::net::TcpStream;
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
    pub(super) async fn on(stream: TcpStream, worker: &Worker<HttpProtocol>, index: u32) -> io::Result<Self> {
        let client = worker.core.borrow().protocol.client(worker.host(index) as u32);
        match client {
            None => Ok(Self::Plain(stream)),
            Some(client) => Box::pin(Secure::greet(stream, &client, worker)).await.map(Box::new).map(Self::Secret),
        }
    }

    /// Waits until the target has closed.
    pub(super) async fn end(&mut self) {
        match self {
            Self::Plain(stream) => while stream.recv().await.is_ok_and(|lease| !lease.is_empty()) {},
            Self::Secret(secure) => secure.end().await,
        }
    }

    /// The socket.
    pub(super) fn socket(&self) -> &TcpStream {
        match self {
            Self::Plain(stream) => stream,
            Self::Secret(secure) => secure.socket(),
        }
    }
}
