//! Twenty thousand connections opened, reset, closed and aborted at random under load: nothing may leak.

use crate::shared::*;
use brunt_runtime::net::{TcpListener, TcpStream};
use brunt_runtime::time::sleep;
use brunt_runtime::{BackendKind, JoinHandle, spawn};
use brunt_testkit::Random;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

const CONNECTIONS: u32 = 20_000;
/// Clients at a time.
const CLIENTS: u64 = 200;

#[test]
fn nothing_leaks_from_twenty_thousand_resets_and_aborts() {
    in_own_process("churn::nothing_leaks_from_twenty_thousand_resets_and_aborts", || {
        for backend in backends() {
            storm(backend);
        }
    });
}

fn storm(backend: BackendKind) {
    let before = open_descriptors();
    let runtime = build(backend);
    runtime.block_on(guarded(async {
        let idle = open_descriptors();
        let (listener, address) = listen();
        let served: Served = Rc::default();
        let server = spawn(serve(listener, served.clone()));
        let left = Rc::new(Cell::new(CONNECTIONS));
        let clients: Vec<_> = (0..CLIENTS).map(|seed| spawn(client(address, seed, left.clone()))).collect();
        let assassin = spawn(aborter(served));
        for client in clients {
            client.await.unwrap();
        }
        assassin.abort();
        // The server still answers.
        let mut stream = TcpStream::connect(address).await.unwrap();
        // Its task may have been aborted once; the aborter has ended.
        if ask(&mut stream, b"still there?").await.is_err() {
            stream = TcpStream::connect(address).await.unwrap();
            ask(&mut stream, b"still there?").await.unwrap();
        }
        drop(stream);
        server.abort();
        assert_eq!(brunt_runtime::drain(LIMIT).await, 0, "{backend}: tasks leaked");
        until_no_connection_is_left().await;
        assert_eq!(brunt_runtime::metrics().tasks, 0, "{backend}");
        until_descriptors_are(idle).await;
        assert_eq!(open_descriptors(), idle, "{backend}: descriptors leaked");
        every_buffer_can_be_lent_at_once().await;
        until_no_connection_is_left().await;
    }));
    drop(runtime);
    assert_eq!(open_descriptors(), before, "{backend}: descriptors leaked by the runtime");
}

pub type Served = Rc<RefCell<VecDeque<JoinHandle<std::io::Result<()>>>>>;

pub async fn serve(listener: TcpListener, served: Served) {
    while let Ok(stream) = listener.accept().await {
        let mut served = served.borrow_mut();
        served.push_back(spawn(echo(stream)));
        // Drops old handles, including some of live connections.
        if served.len() > 2 * CLIENTS as usize {
            served.pop_front();
        }
    }
}

/// Aborts connections' tasks at intervals.
pub async fn aborter(served: Served) {
    let mut random = Random::new(7);
    loop {
        sleep(Duration::from_micros(random.below(600))).await;
        let served = served.borrow();
        if !served.is_empty() {
            served[random.below(served.len() as u64) as usize].abort();
        }
    }
}

/// A task aborted when this is dropped.
struct Doomed<T>(JoinHandle<T>);

impl<T> Drop for Doomed<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Opens connections and ends each in a random way.
pub async fn client(address: SocketAddr, seed: u64, left: Rc<Cell<u32>>) {
    let mut random = Random::new(seed + 1);
    while left.get() > 0 {
        left.set(left.get() - 1);
        let Ok(mut stream) = TcpStream::connect(address).await else { continue };
        // Mostly resets: a graceful close keeps the port for a minute.
        let reset = random.below(8) > 0;
        if reset {
            stream.set_linger_zero().unwrap();
        }
        let size = random.below(9_000) as usize + 1;
        let bytes = vec![seed as u8; size];
        match random.below(6) {
            0 => (),
            // A reset with a send in flight, on either side.
            1 => drop(stream.write_all(&bytes).await),
            2 => drop(stream.write_all(&bytes).await.and(stream.recv().await.map(drop))),
            // An aborted reader: its task holds the stream.
            3 => {
                let _reader = Doomed(spawn(async move { stream.recv().await.map(|received| received.len()) }));
                sleep(Duration::from_micros(random.below(200))).await;
            }
            // A dropped connect.
            4 => drop(brunt_runtime::time::timeout(Duration::ZERO, TcpStream::connect(address)).await),
            _ => drop(ask(&mut stream, &bytes).await),
        }
    }
}

/// Lends every buffer at once: none may be lost.
pub async fn every_buffer_can_be_lent_at_once() {
    let (listener, address) = listen();
    let (mut clients, mut buffers) = (Vec::new(), Vec::new());
    for _ in 0..BUFFERS {
        let (mut client, mut server) = pair_at(&listener, address).await;
        client.write_all(b"x").await.unwrap();
        buffers.push(server.recv().await.unwrap());
        client.set_linger_zero().unwrap();
        clients.push((client, server));
    }
    assert!(buffers.iter().all(|received| **received == *b"x"));
    assert_eq!(brunt_runtime::metrics().spare_buffers, 0, "usual buffers are lost");
    // One more must be an overflow buffer, else there are too many usual ones.
    let (mut client, mut server) = pair_at(&listener, address).await;
    client.write_all(b"y").await.unwrap();
    assert_eq!(*server.recv().await.unwrap(), *b"y");
    assert!(brunt_runtime::metrics().spare_buffers > 0, "a buffer is counted twice");
}
