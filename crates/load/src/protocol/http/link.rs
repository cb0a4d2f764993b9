use super::{HttpProtocol, tls};
use crate::engine::transport::Socket;
use crate::engine::worker::Worker;
use brunt_runtime::net;
use brunt_tls::Stream;
use std::io;

pub enum Link {
    Plain(Socket),
    /// Boxed, to keep plain connections small.
    Tls(Box<Stream<Socket>>),
}

impl Link {
    /// Opens connection `index` and completes its TLS handshake, if there is one.
    pub(super) async fn open(worker: &Worker<HttpProtocol>, index: u32) -> io::Result<Self> {
        let socket = Socket::connect(worker, index).await?;
        let connector = worker.core.borrow().protocol.tls(worker.host(index) as u32);
        match connector {
            None => Ok(Self::Plain(socket)),
            Some(connector) => Box::pin(tls::handshake(socket, &connector, worker)).await.map(Box::new).map(Self::Tls),
        }
    }

    pub(super) async fn closed(&mut self) {
        match self {
            Self::Plain(Socket(stream)) => while stream.recv().await.is_ok_and(|bytes| !bytes.is_empty()) {},
            Self::Tls(stream) => tls::closed(stream).await,
        }
    }

    pub(super) fn socket(&self) -> &net::Stream<net::Any> {
        match self {
            Self::Plain(Socket(stream)) => stream,
            Self::Tls(stream) => &stream.transport().0,
        }
    }
}
