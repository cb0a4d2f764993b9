//! Closed clients: their resources are released and their events not polled again. A stale epoll entry would make the
//! loop spin.

use crate::shared::server::*;
use brunt_testkit::until;
use std::io::Write;
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

/// Ways for a client to go away.
const WAYS: [fn(&mut TcpStream); 4] = [
    // Idle.
    |_| (),
    // Waiting for the second half of a message.
    |client| {
        client.shutdown(Shutdown::Write).unwrap();
        assert_eq!(read(client, &mut [0]), 0);
    },
    // With an unread answer, which causes a reset.
    |client| {
        client.write_all(b"never mind").unwrap();
        let _ = brunt_testkit::uninterrupted(|| client.peek(&mut [0]));
    },
    // With unread answers and unsent requests, while the server is writing.
    |client| {
        client.set_nonblocking(true).unwrap();
        let start = Instant::now();
        while start.elapsed() < Duration::from_millis(20) {
            let _ = client.write(&[7; 65536]);
        }
    },
];

#[test]
fn closed_clients_leave_nothing_and_cause_no_spinning() {
    for model in models() {
        let server = Server::of_model(model, "");
        // One client stays, so that one-time allocations are not counted.
        let mut stays = connect(server.address());
        ask(&mut stays, b"first");
        let before = server.descriptors();
        let mut clients: Vec<_> = (0..40).map(|_| connect(server.address())).collect();
        clients.iter_mut().for_each(|client| ask(client, b"hello"));
        // Files read lazily after start-up may be open already.
        assert!(server.descriptors() >= before + 35, "{model}");
        for (client, way) in clients.iter_mut().zip(WAYS.into_iter().cycle()) {
            way(client);
        }
        drop(clients);
        until(&format!("{model}: {before} descriptors are left"), || server.descriptors() <= before);
        server.until_rested(model);
        ask(&mut stays, b"still here");
    }
}
