//! Several processes as one server: they start together and end together.

use crate::shared::server::*;
use brunt_testkit::{signal, until};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// An unreaped zombie counts as gone.
fn is_gone(pid: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat")).map_or(true, |stat| stat.contains(") Z "))
}

#[test]
fn there_is_a_process_for_each_core() {
    let list = cores(2).iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
    let server = Server::of_model("prefork", &format!("--cores {list}"));
    assert_eq!(server.family().len(), 1 + cores(2).len());
    let words = if cores(2).len() == 1 { "1 process" } else { "2 processes" };
    assert_eq!(server.backend, words);
}

#[test]
fn workers_end_with_their_parent() {
    for signal in [Signal::KILL, Signal::TERM, Signal::ABORT] {
        let server = Server::of_model("prefork", "--grace 10m");
        let (address, workers) = (server.address(), server.family().split_off(1));
        let client = (signal != Signal::TERM).then(|| connect(address));
        server.signal(signal);
        server.end();
        for worker in workers {
            until(&format!("a worker is gone after {signal:?}"), || is_gone(worker));
        }
        assert!(TcpStream::connect(address).is_err());
        drop(client);
    }
}

#[test]
fn a_worker_that_is_killed_ends_the_server() {
    let server = Server::of_model("prefork", "");
    let mut client = connect(server.address());
    ask(&mut client, b"hello");
    let worker = server.family()[1];
    signal(worker, Signal::KILL);
    let (status, _, said) = server.end();
    assert_eq!(status.code(), Some(1), "{said}");
    assert!(said.contains("was killed by signal 9"), "{said}");
}

#[test]
fn a_signal_to_the_process_group_is_one_stop() {
    let server = Server::of_model("prefork", "--grace 300ms");
    let mut client = connect(server.address());
    ask(&mut client, b"hello");
    let all = server.family();
    let start = Instant::now();
    all.iter().for_each(|pid| signal(*pid, Signal::INT));
    let (status, _, said) = server.end();
    assert!(status.success() && start.elapsed() >= Duration::from_millis(300), "{status}: {said}");
    assert!(said.contains("1 connections served, 0 failed, 1 closed at the end of the grace period"), "{said}");
}
