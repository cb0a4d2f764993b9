//! An echo that asks silent peers whether they are still there, and hangs up on those who say nothing.
//!
//! A read that times out is simply dropped: a byte that arrives at that very moment waits for the next read.
//!
//! `cargo run -p brunt-runtime --example echo_timeout [ADDRESS]`, then talk to it: `nc 127.0.0.1 7000`

use brunt_runtime::{
    Runtime,
    net::{TcpListener, TcpStream},
    spawn,
    time::timeout,
};
use std::{env, error::Error, io, net::SocketAddr, time::Duration};

/// How long a peer may be silent before it is asked.
const PATIENCE: Duration = Duration::from_millis(500);
/// Questions in a row that a peer may leave unanswered.
const QUESTIONS: u32 = 3;

fn main() -> Result<(), Box<dyn Error>> {
    let address = address()?;
    Ok(Runtime::new()?.block_on(serve(address))?)
}

async fn serve(address: SocketAddr) -> io::Result<()> {
    let listener = TcpListener::bind(address)?;
    println!("listening on {}", listener.local_addr()?);
    loop {
        spawn(echo(listener.accept().await?));
    }
}

async fn echo(mut stream: TcpStream) -> io::Result<()> {
    let mut asked = 0;
    loop {
        match timeout(PATIENCE, stream.recv()).await {
            Ok(lease) => {
                let lease = lease?;
                if lease.is_empty() {
                    return Ok(());
                }
                stream.send(lease).await?;
                asked = 0;
            }
            Err(_) if asked == QUESTIONS => return stream.write_all(b"goodbye\n").await,
            Err(_) => {
                stream.write_all(b"still there?\n").await?;
                asked += 1;
            }
        }
    }
}

fn address() -> Result<SocketAddr, String> {
    let text = env::args().nth(1).unwrap_or_else(|| "127.0.0.1:7000".to_owned());
    text.parse().map_err(|_| format!("'{text}' is no address; write one like 127.0.0.1:7000"))
}
