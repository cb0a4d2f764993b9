//! An echo that prompts silent peers, and closes the connection after three prompts without an answer.
//!
//! A read that times out is dropped; a byte that arrives at that moment waits for the next read.
//!
//! `cargo run -p brunt-runtime --example echo_timeout [ADDRESS] [uring|epoll]`, then `nc 127.0.0.1 7000`

mod common;

use brunt_runtime::net::{TcpListener, TcpStream};
use brunt_runtime::spawn;
use brunt_runtime::time::timeout;
use std::{error::Error, io, net::SocketAddr, time::Duration};

/// Silence before a prompt.
const IDLE_TIMEOUT: Duration = Duration::from_millis(500);
/// Prompts in a row before the connection is closed.
const MAX_PROMPTS: u32 = 3;

fn main() -> Result<(), Box<dyn Error>> {
    let (address, builder) = common::parse()?;
    Ok(builder.build()?.block_on(serve(address))?)
}

async fn serve(address: SocketAddr) -> io::Result<()> {
    let listener = TcpListener::bind(address)?;
    println!("listening on {}", listener.local_addr()?);
    loop {
        spawn(echo(listener.accept().await?));
    }
}

async fn echo(mut stream: TcpStream) -> io::Result<()> {
    let mut prompts = 0;
    loop {
        match timeout(IDLE_TIMEOUT, stream.recv()).await {
            Ok(received) => {
                let received = received?;
                if received.is_empty() {
                    return Ok(());
                }
                stream.send(received).await?;
                prompts = 0;
            }
            Err(_) if prompts == MAX_PROMPTS => return stream.write_all(b"goodbye\n").await,
            Err(_) => {
                stream.write_all(b"still there?\n").await?;
                prompts += 1;
            }
        }
    }
}
