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

use crate::net::TcpListener;
use crate::testing::{echo, pair};
use std::net::SocketAddr;
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);

/// A listener on port 80 of this world.
fn listener() -> (TcpListener, SocketAddr) {
    let address = SocketAddr::from(([127, 0, 0, 1], 80));
    (TcpListener::bind(address).unwrap(), address)
}

/// Bytes that show where in the stream they stand.
fn bytes(from: usize, len: usize) -> Vec<u8> {
    (from..from + len).map(byte).collect()
}

fn byte(at: usize) -> u8 {
    (at ^ (at >> 8)) as u8
}

/// Echoes every connection.
async fn serve(listener: TcpListener) {
    while let Ok(stream) = listener.accept().await {
        crate::spawn(echo(stream));
    }
}
