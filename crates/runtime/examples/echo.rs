//! Sends everything back, without a copy.
//!
//! `cargo run -p brunt-runtime --example echo [ADDRESS] [uring|epoll]`, then `nc 127.0.0.1 7000`

mod common;

use brunt_runtime::net::{TcpListener, TcpStream};
use brunt_runtime::spawn;
use std::{error::Error, io, net::SocketAddr};

fn main() -> Result<(), Box<dyn Error>> {
    let (address, builder) = common::parse()?;
    Ok(builder.build()?.block_on(serve(address))?)
}

async fn serve(address: SocketAddr) -> io::Result<()> {
    let listener = TcpListener::bind(address)?;
    println!("listening on {}", listener.local_addr()?);
    loop {
        let stream = listener.accept().await?;
        // One task a connection: its errors and panics end that task only.
        spawn(echo(stream));
    }
}

async fn echo(mut stream: TcpStream) -> io::Result<()> {
    loop {
        // The bytes stay in the runtime's receive buffer, which is lent here and sent from.
        let received = stream.recv().await?;
        if received.is_empty() {
            return Ok(());
        }
        stream.send(received).await?;
    }
}
