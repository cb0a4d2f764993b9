//! hyper-util's client and its pool of connections.

use super::HyperStream;
use crate::net::{Tcp, TcpStream};
use hyper::Uri;
use hyper_util::client::legacy::connect::{Connected, Connection};
use send_wrapper::SendWrapper;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Connects hyper-util's `Client` to `http` URLs by this runtime's streams:
/// `Client::builder(HyperExecutor).build(HyperConnector)`. The client stays on the thread of its first request.
#[derive(Debug, Clone, Copy, Default)]
pub struct HyperConnector;

impl tower_service::Service<Uri> for HyperConnector {
    type Response = HyperStream<Tcp>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<HyperStream<Tcp>>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        Box::pin(SendWrapper::new(connect(uri)))
    }
}

async fn connect(uri: Uri) -> io::Result<HyperStream<Tcp>> {
    if uri.scheme_str().is_some_and(|scheme| scheme != "http") {
        let message = format!("'{uri}' is no http URL; for TLS wrap the stream in a connector of your own");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
    }
    let host = uri.host().unwrap_or_default().trim_matches(['[', ']']);
    TcpStream::connect_host((host, uri.port_u16().unwrap_or(80))).await.map(HyperStream::new)
}

impl Connection for HyperStream<Tcp> {
    fn connected(&self) -> Connected {
        Connected::new()
    }
}
