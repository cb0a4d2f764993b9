//! Targets of sessions: slow, quick and mortal ones.

use super::*;
use brunt_runtime::net::{TcpListener, TcpStream};
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;

/// What a target has seen.
#[derive(Debug, Default)]
pub struct Seen {
    pub connections: AtomicU64,
    pub requests: AtomicU64,
}

/// Serves each connection on its own, a request in `service` and the time by which a sleep is late.
pub fn slow(protocol: Protocol, service: Duration) -> (brunt_runtime::net::Address, Arc<Seen>) {
    let seen = Arc::<Seen>::default();
    let counts = Arc::clone(&seen);
    let address = target_on(protocol, move |mut stream| {
        counts.connections.fetch_add(1, Relaxed);
        let mut message = [0; SIZE];
        while stream.read_exact(&mut message).is_ok() {
            counts.requests.fetch_add(1, Relaxed);
            thread::sleep(service);
            if stream.write_all(&message).is_err() {
                return;
            }
        }
    });
    (address, seen)
}

/// An echo for any number of connections on one thread.
pub fn echo_server() -> SocketAddr {
    let (out, address) = mpsc::channel();
    thread::spawn(move || {
        let runtime = brunt_runtime::Runtime::builder().env_prefix("BRUNT").build().unwrap();
        runtime.block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0".parse::<SocketAddr>().unwrap()).unwrap();
            out.send(listener.local_addr().unwrap()).unwrap();
            while let Ok(stream) = listener.accept().await {
                brunt_runtime::spawn(send_back(stream));
            }
        });
    });
    address.recv().unwrap()
}

async fn send_back(mut stream: TcpStream) {
    while let Ok(received) = stream.recv().await {
        if received.is_empty() || stream.send(received).await.is_err() {
            return;
        }
    }
}

/// An echo that dies with this many requests still to be answered: it closes its listener and all connections.
pub fn mortal(requests: &Arc<AtomicU64>) -> SocketAddr {
    let listener = listener();
    let address = listener.local_addr().unwrap();
    let streams = Arc::<Mutex<Vec<std::net::TcpStream>>>::default();
    let is_dead = Arc::<AtomicBool>::default();
    let left = Arc::clone(requests);
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            if is_dead.load(Relaxed) {
                return;
            }
            streams.lock().unwrap().push(stream.try_clone().unwrap());
            let (left, streams, is_dead) = (Arc::clone(&left), Arc::clone(&streams), Arc::clone(&is_dead));
            thread::spawn(move || {
                let mut message = [0; SIZE];
                while stream.read_exact(&mut message).is_ok() && stream.write_all(&message).is_ok() {
                    if left.fetch_sub(1, Relaxed) == 1 {
                        is_dead.store(true, Relaxed);
                        // Ends the listener.
                        drop(std::net::TcpStream::connect(address));
                        for stream in streams.lock().unwrap().drain(..) {
                            let _ = stream.shutdown(Shutdown::Both);
                        }
                    }
                }
            });
        }
    });
    address
}
