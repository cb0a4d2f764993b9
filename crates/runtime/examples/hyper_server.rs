//! An HTTP/1.1 server on hyper with a graceful shutdown: on Ctrl-C or SIGTERM responses in progress are the last ones.
//!
//! `cargo run -p brunt-runtime --features hyper --example hyper_server [ADDRESS] [uring|epoll]`, then
//! `curl http://127.0.0.1:7000/`

mod common;

use brunt_runtime::adapters::HyperTimer;
use brunt_runtime::net::{TcpListener, TcpStream};
use brunt_runtime::signal::{Signal, Signals};
use brunt_runtime::time::sleep;
use brunt_runtime::{CancellationToken, spawn};
use hyper::{Request, Response, body::Incoming, server::conn::http1, service::service_fn};
use std::convert::Infallible;
use std::error::Error;
use std::future::{Future, poll_fn};
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::time::Duration;

/// Longest wait for the last responses.
const GRACE: Duration = Duration::from_secs(10);

fn main() -> Result<(), Box<dyn Error>> {
    let (address, builder) = common::parse()?;
    Ok(builder.build()?.block_on(serve(address))?)
}

async fn serve(address: SocketAddr) -> io::Result<()> {
    let mut signals = Signals::new(&[Signal::Interrupt, Signal::Terminate])?;
    let listener = TcpListener::bind(address)?;
    println!("listening on {}", listener.local_addr()?);
    let stop = CancellationToken::new();
    let acceptor = spawn(accept(listener, stop.clone()));
    signals.recv().await;
    acceptor.abort();
    stop.cancel();
    brunt_runtime::drain(GRACE).await;
    Ok(())
}

async fn accept(listener: TcpListener, stop: CancellationToken) -> io::Result<()> {
    loop {
        spawn(connection(listener.accept().await?, stop.clone()));
    }
}

async fn connection(stream: TcpStream, stop: CancellationToken) -> hyper::Result<()> {
    // The timer limits how long a request head may take to arrive.
    let server = http1::Builder::new().timer(HyperTimer).serve_connection(stream, service_fn(respond));
    let (mut server, mut cancelled) = (pin!(server), pin!(stop.cancelled()));
    let mut ending = false;
    poll_fn(|cx| {
        if !ending && cancelled.as_mut().poll(cx).is_ready() {
            ending = true;
            server.as_mut().graceful_shutdown();
        }
        server.as_mut().poll(cx)
    })
    .await
}

async fn respond(request: Request<Incoming>) -> Result<Response<String>, Infallible> {
    if request.uri().path() == "/slow" {
        sleep(Duration::from_millis(500)).await;
    }
    Ok(Response::new("hello\n".to_owned()))
}
