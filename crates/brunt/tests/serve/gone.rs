//! Clients that have gone: nothing of them stays, and nothing looks at them again. A loop whose set keeps one of them spins.

use crate::server::*;
use std::{
    io::{Read, Write},
    net::{Shutdown, TcpStream},
    thread,
    time::{Duration, Instant},
};

/// The ways to go.
const WAYS: [fn(&mut TcpStream); 4] = [
    // In silence.
    |_| (),
    // Half of it, and waiting for the other half.
    |client| {
        client.shutdown(Shutdown::Write).unwrap();
        assert_eq!(client.read(&mut [0]).unwrap(), 0);
    },
    // With an answer unread: a reset.
    |client| {
        client.write_all(b"never mind").unwrap();
        client.peek(&mut [0]).unwrap();
    },
    // With many answers unread and more unsent, so that the server is in the middle of writing.
    |client| {
        client.set_nonblocking(true).unwrap();
        let start = Instant::now();
        while start.elapsed() < Duration::from_millis(20) {
            let _ = client.write(&[7; 65536]);
        }
    },
];

#[test]
fn of_clients_that_have_gone_nothing_stays_and_nobody_spins() {
    let _alone = alone();
    for model in models() {
        let server = Server::of_model(model, "");
        // One stays, and warms up whatever is made once.
        let mut stays = connect(server.address());
        ask(&mut stays, b"first");
        let before = server.descriptors();
        let mut clients: Vec<_> = (0..40).map(|_| connect(server.address())).collect();
        clients.iter_mut().for_each(|client| ask(client, b"hello"));
        // A file that is read after the start may have been open before.
        assert!(server.descriptors() >= before + 35, "{model}");
        for (client, way) in clients.iter_mut().zip(WAYS.into_iter().cycle()) {
            way(client);
        }
        drop(clients);
        let start = Instant::now();
        while server.descriptors() > before {
            assert!(start.elapsed() < PATIENCE, "{model}: {} of {before} descriptors", server.descriptors());
            thread::sleep(Duration::from_millis(5));
        }
        // The best of some times: a busy machine may make it come to the last of its work only now.
        let half_a_second = |_| {
            let before = server.cpu_time();
            thread::sleep(Duration::from_millis(500));
            server.cpu_time().saturating_sub(before)
        };
        let used = (0..10).map(half_a_second).find(|used| *used < Duration::from_millis(100));
        assert!(used.is_some(), "{model}: more than 100 ms of CPU time in every half second without clients");
        ask(&mut stays, b"still here");
    }
}
