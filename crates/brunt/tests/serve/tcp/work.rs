//! Work before a response; the discard service; the pool and its queue.

use crate::shared::server::*;
use brunt_serve::Concurrency;
use std::io::{Read, Write};
use std::net::Shutdown;
use std::process::Command;

#[test]
fn a_busy_server_stops_on_signal() {
    for model in models() {
        let server = Server::of_model(model, "--work sleep=50ms --grace 100ms");
        // More work than any model can do within the grace time.
        let mut clients: Vec<_> = (0..500).map(|_| connect(server.address())).collect();
        ask(&mut clients[0], b"x");
        clients.iter_mut().for_each(|client| client.write_all(b"x").unwrap());
        server.signal(Signal::TERM);
        let (status, _, said) = server.end();
        assert!(status.success(), "{model}: {status}, {said}");
        // Done serially, all of the work takes 25 s: a server that finishes it answers all.
        let concurrency = brunt_serve::MODELS.iter().find(|one| one.word == model).unwrap().concurrency;
        let replies = clients.iter_mut().map(|client| client.read(&mut [0]));
        let answered = replies.filter(|reply| reply.as_ref().is_ok_and(|count| *count == 1)).count();
        assert!(answered < 500 || concurrency != Concurrency::Serial, "{model}: {answered} answers, {said}");
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
            // A reset here would mean that not everything was read.
            assert_eq!(read(&mut client, &mut [0]), 0, "{model}");
        }
        server.signal(Signal::TERM);
        let (status, _, said) = server.end();
        assert!(
            status.success()
                && said.contains("2 connections served, 0 failed, 0 closed at the end of the grace period"),
            "{model}: {said}"
        );
    }
}

#[test]
fn a_pool_reports_queueing_times() {
    let server = Server::of_model("pool", "--pool 2 --work sleep=20ms");
    assert!(server.backend.starts_with("one epoll loop, 2 pool threads"), "{}", server.backend);
    ten_at_once(&server);
    server.signal(Signal::TERM);
    let (status, _, said) = server.end();
    assert!(status.success(), "{status}: {said}");
    // Ten requests and up to ten closes go through the queue.
    let line = said.lines().find(|line| line.contains("waited for a thread")).unwrap();
    let many: u64 = line.trim_start_matches("brunt serve: ").split(' ').next().unwrap().parse().unwrap();
    assert!((10..=20).contains(&many) && line.contains(" on average, "), "{said}");
}
