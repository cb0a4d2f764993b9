//! Tests of the simulated world.

mod basics;
mod delivery;
mod determinism;
mod host;
mod kernels;
mod network;
mod programs;
mod reading;
mod speed;
mod waiters;

use crate::net::{TcpListener, TcpStream};
use std::net::SocketAddr;
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);

/// A listener on port 80 of this world.
fn listener() -> (TcpListener, SocketAddr) {
    let address = SocketAddr::from(([127, 0, 0, 1], 80));
    (TcpListener::bind(address).unwrap(), address)
}

async fn pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    (client, listener.accept().await.unwrap())
}

/// Bytes that show where in the stream they stand.
fn bytes(from: usize, len: usize) -> Vec<u8> {
    (from..from + len).map(byte).collect()
}

fn byte(at: usize) -> u8 {
    (at ^ (at >> 8)) as u8
}

/// Serves a connection: everything comes back.
async fn echo(mut stream: TcpStream) {
    while let Ok(received) = stream.recv().await {
        if received.is_empty() || stream.send(received).await.is_err() {
            return;
        }
    }
}

/// Echoes every connection.
async fn serve(listener: TcpListener) {
    while let Ok(stream) = listener.accept().await {
        crate::spawn(echo(stream));
    }
}
