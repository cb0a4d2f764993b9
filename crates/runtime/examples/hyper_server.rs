//! An HTTP/1.1 server on hyper, which ends gracefully: on Ctrl-C or SIGTERM the answers on their way are the last ones.
//!
//! `cargo run -p brunt-runtime --features hyper --example hyper_server [ADDRESS]`, then `curl http://127.0.0.1:7000/`

use brunt_runtime::{
    CancellationToken, Runtime,
    adapters::HyperTimer,
    net::{TcpListener, TcpStream},
    signal::{Signal, Signals},
    spawn,
    time::sleep,
};
use hyper::{Request, Response, body::Incoming, server::conn::http1, service::service_fn};
use std::{
    convert::Infallible,
    env,
    error::Error,
    future::{Future, poll_fn},
    io,
    net::SocketAddr,
    pin::pin,
    time::Duration,
};

/// How long the last answers may take.
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
    let acceptor = spawn(accept(listener, stop.clone()));
    signals.recv().await;
    acceptor.abort();
    stop.cancel();
    brunt_runtime::drain(PATIENCE).await;
    Ok(())
}

async fn accept(listener: TcpListener, stop: CancellationToken) -> io::Result<()> {
    loop {
        spawn(connection(listener.accept().await?, stop.clone()));
    }
}

async fn connection(stream: TcpStream, stop: CancellationToken) -> hyper::Result<()> {
    // The timer bounds how long a request's head may take to arrive.
    let server = http1::Builder::new().timer(HyperTimer).serve_connection(stream, service_fn(answer));
    let (mut server, mut told) = (pin!(server), pin!(stop.cancelled()));
    let mut ending = false;
    poll_fn(|cx| {
        if !ending && told.as_mut().poll(cx).is_ready() {
            ending = true;
            server.as_mut().graceful_shutdown();
        }
        server.as_mut().poll(cx)
    })
    .await
}

async fn answer(request: Request<Incoming>) -> Result<Response<String>, Infallible> {
    if request.uri().path() == "/slow" {
        sleep(Duration::from_millis(500)).await;
    }
    Ok(Response::new("hello\n".to_owned()))
}

fn address() -> Result<SocketAddr, String> {
    let text = env::args().nth(1).unwrap_or_else(|| "127.0.0.1:7000".to_owned());
    text.parse().map_err(|_| format!("'{text}' is no address; write one like 127.0.0.1:7000"))
}
