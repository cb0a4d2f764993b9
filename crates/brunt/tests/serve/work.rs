//! What is done before an answer, and who waits for it; the service that does not answer; the pool and its queue.

use crate::server::*;
use std::{
    io::{Read, Write},
    net::Shutdown,
    process::Command,
    time::{Duration, Instant},
};

/// How long it takes until ten clients that ask at once have been answered.
fn ten_at_once(server: &Server) -> Duration {
    let mut clients: Vec<_> = (0..10).map(|_| connect(server.address())).collect();
    // Accepted, all of them, and nobody is in the middle of anything.
    let start = Instant::now();
    clients.iter_mut().for_each(|client| client.write_all(b"x").unwrap());
    clients.iter_mut().for_each(|client| client.read_exact(&mut [0]).unwrap());
    start.elapsed()
}

#[test]
fn where_a_loop_waits_everybody_waits() {
    for model in ["poll", "epoll-one", "epoll-each", "acceptor", "prefork", "pool --pool 1"] {
        let server = Server::of_model(model, "--work sleep=20ms");
        assert!(server.backend.ends_with("; sleep=20ms before each answer"), "{}", server.backend);
        let took = ten_at_once(&server);
        assert!(took >= Duration::from_millis(200), "{model}: {took:?}");
    }
}

#[test]
fn waiting_connections_do_not_block_others() {
    for model in ["uring", "epoll", "tokio", "tokio-each", "thread", "pool --pool 10"] {
        let server = Server::of_model(model, "--work sleep=300ms");
        // One after the other they would take 3 s; the best of some times, for the machine may be busy.
        let times: Vec<_> = (0..8).map(|_| ten_at_once(&server)).take_while(|took| took.as_secs() >= 3).collect();
        assert!(times.len() < 8, "{model}: {times:?}");
        drop(server);
        let server = Server::of_model(model, "--work sleep=50ms");
        assert!(ten_at_once(&server) >= Duration::from_millis(50), "{model}: nobody has waited");
    }
}

#[test]
fn computing_takes_the_processor() {
    for model in models() {
        for work in ["spin=30ms", "sha256=13"] {
            let server = Server::of_model(model, &format!("--work {work}"));
            let mut client = connect(server.address());
            let before = server.cpu_time();
            (0..4).for_each(|_| ask(&mut client, b"think"));
            let used = server.cpu_time().saturating_sub(before);
            // In ticks of 10 ms; what a hash takes is the machine's.
            assert!(work != "spin=30ms" || used >= Duration::from_millis(100), "{model}: {used:?} for 4 times 30 ms");
        }
    }
}

#[test]
fn a_server_at_work_ends_when_it_is_told_to() {
    for model in models() {
        let server = Server::of_model(model, "--work sleep=50ms --grace 100ms");
        // More work than any model does in that time.
        let mut clients: Vec<_> = (0..500).map(|_| connect(server.address())).collect();
        ask(&mut clients[0], b"x");
        clients.iter_mut().for_each(|client| client.write_all(b"x").unwrap());
        let start = Instant::now();
        server.signal("TERM");
        let (status, _, said) = server.end();
        // All of the work would be 25 s, one after the other.
        assert!(status.success() && start.elapsed() < Duration::from_secs(20), "{model}: {status}, {said}");
    }
}

#[test]
fn discard_reads_and_never_answers() {
    for model in models() {
        let mut command = Command::new(env!("CARGO_BIN_EXE_brunt"));
        let flags = ["serve", "discard", "--listen", "127.0.0.1:0", "--listen", "[::1]:0", "--model", model];
        let server = Server::start({
            command.args(flags);
            command
        });
        for address in &server.addresses {
            let mut client = connect(*address);
            (0..8).for_each(|_| client.write_all(&pattern(1 << 20)).unwrap());
            client.shutdown(Shutdown::Write).unwrap();
            // All of it has been read, or this would be a reset.
            assert_eq!(client.read(&mut [0]).unwrap(), 0, "{model}");
        }
        server.signal("TERM");
        let (status, _, said) = server.end();
        assert!(status.success() && said.contains("2 connections served, 0 failed, 0 still open"), "{model}: {said}");
    }
}

#[test]
fn a_pool_tells_how_long_requests_have_waited() {
    let server = Server::of_model("pool", "--pool 2 --work sleep=20ms");
    assert!(server.backend.starts_with("one epoll loop, 2 pool threads"), "{}", server.backend);
    ten_at_once(&server);
    server.signal("TERM");
    let (status, _, said) = server.end();
    assert!(status.success(), "{status}: {said}");
    // Ten clients have asked once and gone once, of which the loop hears as well.
    let line = said.lines().find(|line| line.contains("waited for a thread")).unwrap();
    let many: u64 = line.trim_start_matches("brunt serve: ").split(' ').next().unwrap().parse().unwrap();
    assert!((10..=20).contains(&many) && line.contains(" on average, "), "{said}");
}
