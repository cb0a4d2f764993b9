//! Programs with listeners, datagrams, long streams and ends of runtimes: each step returns the same on a simulated world, on io_uring
//! and on epoll. The page `one_meaning.md` has some of them.

use super::kernels::{Kernel, SETTLE, kernels, pair, result, settle};
use crate::net::{TcpListener, TcpStream, UdpSocket, UnixStream};
use crate::time::timeout;
use crate::{BackendKind, Builder, group, spawn};
use std::future::{Future, pending};
use std::net::{Shutdown, SocketAddr};
use std::rc::Rc;
use std::sync::{Arc, OnceLock};
use std::{fmt::Display, io};

/// Steps, and what they returned.
#[derive(Default)]
pub struct Log(pub Vec<(String, String)>);

impl Log {
    fn add(&mut self, step: impl Into<String>, results: impl Display) {
        self.0.push((step.into(), results.to_string()));
    }
}

/// What a call returns, if it does.
async fn of<T: Display>(call: impl Future<Output = io::Result<T>>) -> String {
    timeout(SETTLE, call).await.map_or_else(|_| "waits".to_owned(), result)
}

async fn connect(address: SocketAddr) -> String {
    of(async { TcpStream::connect(address).await.map(|_| "connected") }).await
}

/// An address of this host that no other test uses: a port that was closed stays closed.
fn alone() -> SocketAddr {
    ([127, 9, 8, 7], 0).into()
}

fn listen() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind(alone()).unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

/// What listeners and their clients see.
async fn listening(log: &mut Log) {
    let (listener, address) = listen();
    for (linger_zero, step) in
        [(false, "client closes, accept, read, read"), (true, "client resets, accept, read, read")]
    {
        let mut client = TcpStream::connect(address).await.unwrap();
        client.write_all(b"early").await.unwrap();
        client.flush().await.unwrap();
        settle().await;
        if linger_zero {
            client.set_linger_zero().unwrap();
        }
        drop(client);
        settle().await;
        let mut server = listener.accept().await.unwrap();
        let mut into = [0; 99];
        let [first, second] = [of(server.read(&mut into)).await, of(server.read(&mut into)).await];
        log.add(step, format!("{first}, {second}"));
    }
    log.add("bind to the same port", result(TcpListener::bind(address).map(|_| "bound")));
    // Once with an accept that was given up.
    log.add("accept", of(async { listener.accept().await.map(|_| "accepted") }).await);
    let mut taken = TcpStream::connect(address).await.unwrap();
    settle().await;
    drop(listener);
    settle().await;
    log.add("accept given up, listener dropped, client reads", of(taken.read(&mut [0; 9])).await);
    let (listener, address) = listen();
    let mut waiting = TcpStream::connect(address).await.unwrap();
    settle().await;
    drop(listener);
    settle().await;
    log.add("listener dropped, client reads", of(waiting.read(&mut [0; 9])).await);
    log.add("listener dropped, connect", connect(address).await);
    log.add(
        "connect to no Unix socket",
        of(async { UnixStream::connect("\0no such name").await.map(|_| "connected") }).await,
    );
}

/// Two tasks that wait for one listener.
async fn waiting(log: &mut Log) {
    let (listener, address) = listen();
    let listener = Rc::new(listener);
    let tasks = [(); 2].map(|()| {
        let listener = Rc::clone(&listener);
        spawn(async move { listener.accept().await })
    });
    settle().await;
    let mut clients = Vec::new();
    for step in ["two accepts wait, one client connects", "two accepts wait, two clients connect"] {
        clients.push(TcpStream::connect(address).await.unwrap());
        settle().await;
        log.add(step, format!("{} accepted", tasks.iter().filter(|task| task.is_finished()).count()));
    }
}

/// What clients see of a runtime that ends while it has their connections.
async fn ending(log: &mut Log, backend: BackendKind) {
    for left in ["nothing", "unread bytes", "bytes written"] {
        let place = Arc::new(OnceLock::new());
        let builder = Builder::default().backend(Some(backend));
        let worker = group::spawn(&builder, "ends", None, {
            let place = Arc::clone(&place);
            move || ends_with(left, place)
        });
        while place.get().is_none() {
            settle().await;
        }
        let address = *place.get().unwrap();
        let mut client = TcpStream::connect(address).await.unwrap();
        client.write_all(b"hello").await.unwrap();
        client.flush().await.unwrap();
        worker.unwrap().await.unwrap();
        settle().await;
        let mut into = [0; 999];
        let [first, second] = [of(client.read(&mut into)).await, of(client.read(&mut into)).await];
        log.add(
            format!("runtime ends with {left}, client reads twice, connects"),
            format!("{first}, {second}, {}", connect(address).await),
        );
    }
}

/// Accepts a connection, and returns while a task holds it and the listener.
async fn ends_with(left: &str, place: Arc<OnceLock<SocketAddr>>) {
    let (listener, address) = listen();
    place.set(address).unwrap();
    let mut stream = listener.accept().await.unwrap();
    settle().await;
    if left != "unread bytes" {
        stream.read_exact(&mut [0; 5]).await.unwrap();
    }
    if left == "bytes written" {
        stream.write_all(&[7; 300]).await.unwrap();
    }
    spawn(async move {
        let _held = (stream, listener);
        pending::<()>().await;
    });
}

/// What fits into the buffers, whatever their size: all bytes come, in order, and the end after them.
async fn flowing(log: &mut Log) {
    for address in ["127.0.0.1:0", "unix:@any"] {
        let (mut client, mut server) = pair(&address.parse().unwrap()).await;
        let bytes: Vec<u8> = (0..8u32 << 20).map(|at| (at ^ (at >> 8)) as u8).collect();
        log.add("8 MiB without a reader", of(async { client.write_all(&bytes).await.map(|()| "written") }).await);
        let reader = spawn(async move {
            let mut got = Vec::new();
            loop {
                let part = server.recv().await.unwrap();
                if part.is_empty() {
                    return got;
                }
                got.extend_from_slice(&part);
            }
        });
        client.shutdown(Shutdown::Write).await.unwrap();
        let got = reader.await.unwrap();
        log.add("what comes is a beginning", format!("{}, some {}", bytes.starts_with(&got), got.len() > 10_000));
    }
}

/// What datagrams return.
async fn datagrams(log: &mut Log) {
    let bind = || UdpSocket::bind(alone()).unwrap();
    let (one, other) = (bind(), bind());
    let to = other.local_addr().unwrap();
    let mut into = [0; 5];
    log.add("datagram sent", result(one.send_to(b"datagram", to).await));
    log.add("empty datagram sent", result(one.send_to(b"", to).await));
    log.add("datagram without an address", result(one.send(b"x").await));
    log.add("datagram of 66,000 bytes", result(one.send_to(&[0; 66_000], to).await));
    settle().await;
    for _ in 0..2 {
        let got = other.recv_from(&mut into).await.unwrap();
        let from = got.from == one.local_addr().unwrap();
        log.add("datagram received", format!("{} of {}, from it: {from}", got.len, got.sent_len));
    }
    log.add("no datagram", of(async { other.recv_from(&mut into).await.map(|_| "one") }).await);
    other.connect(bind().local_addr().unwrap()).unwrap();
    one.send_to(b"from another", to).await.unwrap();
    settle().await;
    log.add("connected to another, received", of(async { other.recv(&mut into).await.map(|_| "one") }).await);
    for step in ["refused later", "refused now", "refused later"] {
        log.add(step, result(other.send(b"x").await));
        settle().await;
    }
    log.add("the refusal that waits, received", result(other.recv(&mut into).await.map(|got| format!("{got:?}"))));
    log.add("a port that is taken", result(UdpSocket::bind(to).map(|_| "bound")));
}

/// Runs all programs on that kernel; `None` if this machine has it not.
pub fn played(kernel: Kernel) -> Option<Log> {
    let (_, _world, runtime) = kernels().find(|(found, ..)| *found == kernel)?;
    let backend = runtime.backend();
    Some(runtime.block_on(async {
        let mut log = Log::default();
        listening(&mut log).await;
        waiting(&mut log).await;
        ending(&mut log, backend).await;
        flowing(&mut log).await;
        datagrams(&mut log).await;
        log
    }))
}

#[test]
fn programs_return_the_same_on_every_kernel() {
    let world = played(Kernel::World).unwrap();
    for kernel in [Kernel::Uring, Kernel::Epoll] {
        let Some(log) = played(kernel) else { continue };
        for (one, other) in world.0.iter().zip(&log.0) {
            assert_eq!(one, other, "{kernel:?}");
        }
        assert_eq!(world.0.len(), log.0.len());
    }
}
