//! An echo with a graceful shutdown: on Ctrl-C or SIGTERM it stops accepting, sends back what has arrived, closes idle
//! connections, and waits for the others for a limited time.
//!
//! `cargo run -p brunt-runtime --example graceful_shutdown [ADDRESS] [uring|epoll]`

mod common;

use brunt_runtime::net::{TcpListener, TcpStream};
use brunt_runtime::signal::{Signal, Signals};
use brunt_runtime::{CancellationToken, spawn};
use futures_lite::FutureExt;
use std::{error::Error, future::Future, io, net::SocketAddr, time::Duration};

/// Longest wait for open connections.
const GRACE: Duration = Duration::from_secs(10);

fn main() -> Result<(), Box<dyn Error>> {
    let (address, builder) = common::parse()?;
    Ok(builder.build()?.block_on(serve(address))?)
}

async fn serve(address: SocketAddr) -> io::Result<()> {
    let mut signals = Signals::new(&[Signal::Interrupt, Signal::Terminate])?;
    let listener = TcpListener::bind(address)?;
    println!("listening on {}", listener.local_addr()?);
    // With several workers each has a `child_token` of one token: see `guide::costs`.
    let stop = CancellationToken::new();
    spawn(accept(listener, stop.clone()));
    signals.recv().await;
    stop.cancel();
    match brunt_runtime::drain(GRACE).await {
        0 => println!("all connections have ended"),
        left => println!("{left} connections did not end within {GRACE:?}"),
    }
    Ok(())
}

async fn accept(listener: TcpListener, stop: CancellationToken) -> io::Result<()> {
    while let Some(stream) = until_cancelled(&stop, listener.accept()).await {
        spawn(echo(stream?, stop.clone()));
    }
    Ok(())
}

async fn echo(mut stream: TcpStream, stop: CancellationToken) -> io::Result<()> {
    while let Some(received) = until_cancelled(&stop, stream.recv()).await {
        let received = received?;
        if received.is_empty() {
            break;
        }
        stream.send(received).await?;
    }
    stream.flush().await
}

/// The output of `work`, or `None` if `stop` is cancelled first. `work` is then dropped: a read or an accept loses nothing.
async fn until_cancelled<T>(stop: &CancellationToken, work: impl Future<Output = T>) -> Option<T> {
    let cancelled = async {
        stop.cancelled().await;
        None
    };
    async { Some(work.await) }.or(cancelled).await
}
