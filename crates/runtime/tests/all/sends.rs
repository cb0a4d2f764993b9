//! Which sends are calls of their own on io_uring, and which share one.

use crate::shared::{echo, listen, on};
use brunt_runtime::{BackendKind, metrics, spawn, spawn_blocking, yield_now};
use std::io::{Read, Write};
use std::net::TcpStream;

const MESSAGE: [u8; 100] = [7; 100];

fn exchange(mut client: &TcpStream) {
    client.write_all(&MESSAGE).unwrap();
    client.read_exact(&mut [0; MESSAGE.len()]).unwrap();
}

#[test]
fn a_task_that_runs_alone_sends_by_a_call_and_many_by_requests_of_one_call() {
    on(BackendKind::Uring, async {
        const CONNECTIONS: u64 = 20;
        let (listener, address) = listen();
        let mut clients = Vec::new();
        for _ in 0..CONNECTIONS {
            clients.push(TcpStream::connect(address).unwrap());
            spawn(echo(listener.accept().await.unwrap()));
        }
        // Each has its receive armed.
        let all = clients.iter().map(|client| client.try_clone().unwrap()).collect::<Vec<_>>();
        spawn_blocking(move || all.iter().for_each(exchange)).await.unwrap();

        let before = metrics().submitted;
        let alone = clients[0].try_clone().unwrap();
        spawn_blocking(move || (0..100).for_each(|_| exchange(&alone))).await.unwrap();
        let requests = metrics().submitted - before;
        assert!(requests < 10, "{requests} requests for 100 replies");

        let before = metrics();
        // The worker sees all of them at once.
        clients.iter_mut().for_each(|client| client.write_all(&MESSAGE).unwrap());
        while metrics().submitted - before.submitted < CONNECTIONS {
            yield_now().await;
        }
        clients.iter_mut().for_each(|client| client.read_exact(&mut [0; MESSAGE.len()]).unwrap());
        let enters = metrics().enters - before.enters;
        assert!(enters <= 4, "{enters} calls for {CONNECTIONS} replies");
    });
}
