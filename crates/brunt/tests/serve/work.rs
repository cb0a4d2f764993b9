//! Work before a response and which connections it blocks; the discard service; the pool and its queue.

use crate::server::*;
use brunt_serve::{Concurrency, MODELS, ServerModel};
use std::io::{Read, Write};
use std::net::Shutdown;
use std::process::Command;
use std::time::{Duration, Instant};

/// Time until ten clients that ask at once have their replies.
fn ten_at_once(server: &Server) -> Duration {
    let mut clients: Vec<_> = (0..10).map(|_| connect(server.address())).collect();
    let start = Instant::now();
    clients.iter_mut().for_each(|client| client.write_all(b"x").unwrap());
    clients.iter_mut().for_each(|client| client.read_exact(&mut [0]).unwrap());
    start.elapsed()
}

/// Models with this concurrency, with `--pool POOL` where it decides.
fn models_with(concurrency: Concurrency, pool: usize) -> Vec<String> {
    let word = |model: &&ServerModel| match model.concurrency {
        Concurrency::Pool => Some(format!("{} --pool {pool}", model.word)),
        other => (other == concurrency).then(|| model.word.to_owned()),
    };
    MODELS.iter().filter_map(word).collect()
}

#[test]
fn sleeping_work_blocks_the_other_connections_of_a_loop() {
    for model in models_with(Concurrency::Serial, 1) {
        let server = Server::of_model(&model, "--work sleep=20ms");
        assert!(server.backend.ends_with("; sleep=20ms before each answer"), "{}", server.backend);
        let took = ten_at_once(&server);
        assert!(took >= Duration::from_millis(200), "{model}: {took:?}");
    }
}

#[test]
fn sleeping_work_does_not_block_others_where_it_is_concurrent() {
    for model in models_with(Concurrency::Unlimited, 10) {
        let server = Server::of_model(&model, "--work sleep=50ms");
        assert!(ten_at_once(&server) >= Duration::from_millis(50), "{model}: no work was done");
        // Control: the serial model at the same time on the same machine, which takes at least 500 ms. Scheduling noise adds to
        // both; the best of some attempts counts.
        let serial = Server::of_model("epoll-one", "--work sleep=50ms");
        let times: Vec<_> = (0..8).map(|_| (ten_at_once(&server), ten_at_once(&serial))).collect();
        let (best, control) = (times.iter().map(|(took, _)| *took).min(), times.iter().map(|(_, took)| *took).min());
        assert!(best.unwrap() * 2 < control.unwrap(), "{model}, epoll-one: {times:?}");
    }
}

#[test]
fn computing_uses_cpu_time() {
    for model in models() {
        // CPU time of four requests with this work, in ticks of 10 ms.
        let used = |work: &str| {
            let server = Server::of_model(model, &format!("--work {work}"));
            let mut client = connect(server.address());
            let before = server.cpu_time();
            (0..4).for_each(|_| ask(&mut client, b"think"));
            server.cpu_time().saturating_sub(before)
        };
        let (spin, none) = (used("spin=30ms"), used("none"));
        assert!(spin >= Duration::from_millis(100), "{model}: {spin:?} for 4 times 30 ms");
        assert!(none < spin / 2, "{model}: {none:?} without work, {spin:?} with 120 ms");
        // The cost of a hash depends on the machine: those of 18 bits take more than a tick on any.
        let hash = used("sha256=18");
        assert!(hash > none, "{model}: {hash:?} for 18 zero bits, {none:?} without");
    }
}

#[test]
fn a_busy_server_stops_on_signal() {
    for model in models() {
        let server = Server::of_model(model, "--work sleep=50ms --grace 100ms");
        // More work than any model can do within the grace time.
        let mut clients: Vec<_> = (0..500).map(|_| connect(server.address())).collect();
        ask(&mut clients[0], b"x");
        clients.iter_mut().for_each(|client| client.write_all(b"x").unwrap());
        let start = Instant::now();
        server.signal("TERM");
        let (status, _, said) = server.end();
        // Done serially, the work would take 25 s.
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
            // A reset here would mean that not everything was read.
            assert_eq!(read(&mut client, &mut [0]), 0, "{model}");
        }
        server.signal("TERM");
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
    server.signal("TERM");
    let (status, _, said) = server.end();
    assert!(status.success(), "{status}: {said}");
    // Ten requests and up to ten closes go through the queue.
    let line = said.lines().find(|line| line.contains("waited for a thread")).unwrap();
    let many: u64 = line.trim_start_matches("brunt serve: ").split(' ').next().unwrap().parse().unwrap();
    assert!((10..=20).contains(&many) && line.contains(" on average, "), "{said}");
}
