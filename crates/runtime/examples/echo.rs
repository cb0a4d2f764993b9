//! Sends back whatever it is sent, without a copy.
//!
//! `cargo run -p brunt-runtime --example echo [ADDRESS]`, then talk to it: `nc 127.0.0.1 7000`

use brunt_runtime::{
    Runtime,
    net::{TcpListener, TcpStream},
    spawn,
};
use std::{env, error::Error, io, net::SocketAddr};

fn main() -> Result<(), Box<dyn Error>> {
    let address = address()?;
    Ok(Runtime::new()?.block_on(serve(address))?)
}

async fn serve(address: SocketAddr) -> io::Result<()> {
    let listener = TcpListener::bind(address)?;
    println!("listening on {}", listener.local_addr()?);
    loop {
        let stream = listener.accept().await?;
        // One task a connection: its errors, and its panics, are its own.
        spawn(echo(stream));
    }
}

async fn echo(mut stream: TcpStream) -> io::Result<()> {
    loop {
        // The bytes stay in the runtime's buffer, which is lent to us and sent from.
        let lease = stream.recv().await?;
        if lease.is_empty() {
            return Ok(());
        }
        stream.send(lease).await?;
    }
}

fn address() -> Result<SocketAddr, String> {
    let text = env::args().nth(1).unwrap_or_else(|| "127.0.0.1:7000".to_owned());
    text.parse().map_err(|_| format!("'{text}' is no address; write one like 127.0.0.1:7000"))
}
