//! Peers that never read: sends to them time out, and a runtime that is dropped leaves nothing of them.

use crate::{on_both_backends, shared::*};
use brunt_runtime::net::TcpStream;
use brunt_runtime::time::{sleep, timeout};
use brunt_runtime::{BackendKind, Runtime, spawn};
use socket2::{Domain, Socket, Type};
use std::net::{SocketAddr, TcpListener};
use std::thread;
use std::time::Duration;

on_both_backends!(three_hundred_unread_flooders_do_not_stop_another_connection);

/// Each fills its inbox and its socket and stops: together they need far more than the usual buffers.
async fn three_hundred_unread_flooders_do_not_stop_another_connection() {
    // Small socket buffers limit the data; accepted sockets inherit the sizes.
    let small = || {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        socket.set_recv_buffer_size(128 << 10).unwrap();
        socket.set_send_buffer_size(16 << 10).unwrap();
        socket
    };
    let listener = small();
    listener.bind(&SocketAddr::from(([127, 0, 0, 1], 0)).into()).unwrap();
    listener.listen(1024).unwrap();
    let address = listener.local_addr().unwrap();
    let listener = brunt_runtime::net::TcpListener::from_std(listener.into()).unwrap();
    let neighbour = async |stream: &mut TcpStream| ask(stream, &[7; 5000]).await.unwrap();
    let (mut client, server) = pair_at(&listener, address.as_socket().unwrap()).await;
    spawn(echo(server));
    neighbour(&mut client).await;
    let mut flood = Vec::new();
    for _ in 0..300 {
        let socket = small();
        socket.connect(&address).unwrap();
        let mut stream = TcpStream::from_std(socket.into()).unwrap();
        spawn(echo(listener.accept().await.unwrap()));
        flood.push(spawn(async move { while stream.write_all(&[1; 16_384]).await.is_ok() {} }));
    }
    while brunt_runtime::metrics().spare_buffers == 0 {
        sleep(Duration::from_millis(1)).await;
    }
    for _ in 0..50 {
        neighbour(&mut client).await;
        sleep(Duration::from_millis(1)).await;
    }
    // New connections are served too.
    let (mut late, server) = pair_at(&listener, address.as_socket().unwrap()).await;
    spawn(echo(server));
    neighbour(&mut late).await;
    // Each holds little more than its limit of 16 segments.
    let held = brunt_runtime::metrics().spare_buffers + BUFFERS as u64;
    println!("{held} buffers held by {} flooders", flood.len());
    assert!(held < 300 * 40, "{held}");
    flood.iter().for_each(brunt_runtime::JoinHandle::abort);
}

/// Connections to a peer that accepts and never reads; dropped at the end of the test.
struct Wall {
    listener: TcpListener,
    accepted: Vec<std::net::TcpStream>,
}

impl Wall {
    fn new() -> (Self, SocketAddr) {
        // Small windows fill soon; accepted sockets inherit the size.
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        (Self { listener, accepted: Vec::new() }, address)
    }

    fn accept(&mut self) {
        self.accepted.push(self.listener.accept().unwrap().0);
    }
}

/// Full streams, each with a send in flight that cannot complete: half with send buffers, half with receive buffers.
async fn stuffed(wall: &mut Wall, address: SocketAddr) -> Vec<TcpStream> {
    let mut streams = Vec::new();
    let (mut source, mut sink) = pair().await;
    for n in 0..20 {
        let mut stream = TcpStream::connect(address).await.unwrap();
        wall.accept();
        let block = [n; 16_384];
        // Writes until full; the last send is partial.
        while timeout(Duration::from_millis(10), stream.write_all(&block)).await.is_ok() {}
        if n % 2 == 0 {
            source.write_all(&block[..4000]).await.unwrap();
            let received = sink.recv().await.unwrap();
            let _ = timeout(Duration::from_millis(1), stream.send(received)).await;
        }
        streams.push(stream);
    }
    streams
}

#[test]
fn a_runtime_dropped_with_sends_that_nobody_reads_leaks_nothing() {
    in_own_process("peers::a_runtime_dropped_with_sends_that_nobody_reads_leaks_nothing", || {
        for backend in backends() {
            for held in ["by a task", "not at all", "by the caller"] {
                let before = open_descriptors();
                let builder = Runtime::builder().backend(Some(backend)).close_timeout(Duration::from_millis(50));
                let runtime = builder.build().unwrap();
                let (mut wall, address) = Wall::new();
                let kept = runtime.block_on(guarded(async {
                    let streams = stuffed(&mut wall, address).await;
                    match held {
                        "by a task" => {
                            spawn(async move {
                                let _streams = streams;
                                std::future::pending::<()>().await;
                            });
                            brunt_runtime::yield_now().await;
                            None
                        }
                        "not at all" => None,
                        _ => Some(streams),
                    }
                }));
                drop(runtime);
                drop((wall, kept));
                assert_eq!(open_descriptors(), before, "{backend}, streams held {held}");
            }
        }
    });
}

#[test]
fn a_dropped_stream_closes_after_the_linger_time() {
    // Both backends at once: the test waits for the linger time to pass.
    let both: Vec<_> = backends().into_iter().map(|backend| thread::spawn(move || give_up(backend))).collect();
    both.into_iter().for_each(|thread| thread.join().unwrap());
}

fn give_up(backend: BackendKind) {
    on(backend, async {
        let (mut wall, address) = Wall::new();
        let streams = stuffed(&mut wall, address).await;
        drop(streams);
        // Five seconds of linger time, and a busy machine.
        timeout(LIMIT / 2, until_no_connection_is_left()).await.expect("connections are never closed");
    });
}
