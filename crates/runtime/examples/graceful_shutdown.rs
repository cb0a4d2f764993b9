//! An echo that ends as a service should: on Ctrl-C or SIGTERM it takes nobody new, sends back what has arrived, lets
//! idle peers go, and does not wait for ever.
//!
//! `cargo run -p brunt-runtime --example graceful_shutdown [ADDRESS]`

use brunt_runtime::{
    CancellationToken, Runtime,
    net::{TcpListener, TcpStream},
    signal::{Signal, Signals},
    spawn,
};
use std::{
    env,
    error::Error,
    future::{Future, poll_fn},
    io,
    net::SocketAddr,
    pin::pin,
    task::Poll,
    time::Duration,
};

/// How long connections may take to end.
const PATIENCE: Duration = Duration::from_secs(10);

fn main() -> Result<(), Box<dyn Error>> {
    let address = address()?;
    Ok(Runtime::new()?.block_on(serve(address))?)
}

async fn serve(address: SocketAddr) -> io::Result<()> {
    let mut signals = Signals::new(&[Signal::Interrupt, Signal::Terminate])?;
    let listener = TcpListener::bind(address)?;
    println!("listening on {}", listener.local_addr()?);
    let stop = CancellationToken::new();
    spawn(accept(listener, stop.clone()));
    signals.recv().await;
    stop.cancel();
    match brunt_runtime::drain(PATIENCE).await {
        0 => println!("all connections have ended"),
        left => println!("{left} connections did not end within {PATIENCE:?}"),
    }
    Ok(())
}

async fn accept(listener: TcpListener, stop: CancellationToken) -> io::Result<()> {
    while let Some(stream) = unless(&stop, listener.accept()).await {
        spawn(echo(stream?, stop.clone()));
    }
    Ok(())
}

async fn echo(mut stream: TcpStream, stop: CancellationToken) -> io::Result<()> {
    while let Some(lease) = unless(&stop, stream.recv()).await {
        let lease = lease?;
        if lease.is_empty() {
            break;
        }
        stream.send(lease).await?;
    }
    stream.flush().await
}

/// What `work` comes to, or nothing if it is time to stop before that. `work` is dropped then, by which a read or an
/// accept loses nothing.
async fn unless<T>(stop: &CancellationToken, work: impl Future<Output = T>) -> Option<T> {
    let (mut work, mut told) = (pin!(work), pin!(stop.cancelled()));
    poll_fn(|cx| match work.as_mut().poll(cx) {
        Poll::Ready(output) => Poll::Ready(Some(output)),
        Poll::Pending => told.as_mut().poll(cx).map(|()| None),
    })
    .await
}

fn address() -> Result<SocketAddr, String> {
    let text = env::args().nth(1).unwrap_or_else(|| "127.0.0.1:7000".to_owned());
    text.parse().map_err(|_| format!("'{text}' is no address; write one like 127.0.0.1:7000"))
}
