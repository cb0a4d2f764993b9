//! The processes that listen on an address are found, for all forms of listening, and no others.

use crate::shared::Actor;
use brunt_meter::listener::{Listeners, find, is_local};
use brunt_testkit::{free_port, until};
use std::net::{SocketAddr, TcpListener};

/// Listens on a new port below the ephemeral range; `None` if the machine has no such address.
fn listen(ip: &str) -> Option<(TcpListener, u16)> {
    let port = free_port();
    Some((TcpListener::bind((ip, port)).ok()?, port))
}

fn address(ip: &str, port: u16) -> SocketAddr {
    SocketAddr::new(ip.parse().unwrap(), port)
}

fn us() -> Listeners {
    Listeners { pids: vec![std::process::id()], roots: vec![std::process::id()] }
}

#[test]
fn listeners_of_both_families_and_the_wildcards_are_found() {
    for (listens, asked) in [
        ("127.0.0.1", "127.0.0.1"),
        ("0.0.0.0", "127.0.0.1"),
        ("0.0.0.0", "127.9.9.9"),
        ("::1", "::1"),
        ("::", "::1"),
        ("::", "127.0.0.1"),
    ] {
        let Some((_listener, port)) = listen(listens) else {
            assert!(listens.contains(':'), "{listens}: no free port");
            eprintln!("this machine has no IPv6: {listens} is not tried");
            continue;
        };
        // A child just forked by a concurrent test holds all descriptors until exec.
        until(&format!("{listens} asked as {asked}: this process alone is found"), || {
            find(address(asked, port)) == Ok(us())
        });
    }
}

#[test]
fn an_address_without_listener_is_an_error() {
    let (listener, port) = listen("127.0.0.1").unwrap();
    let other = find(address("127.0.0.3", port)).unwrap_err();
    assert!(other.contains("127.0.0.3") && other.contains("--server-pid"), "{other}");
    drop(listener);
    assert!(find(address("127.0.0.1", 1)).is_err());
    // TEST-NET-1, RFC 5737.
    let foreign = find(address("192.0.2.1", port)).unwrap_err();
    assert!(foreign.contains("not an address of this machine"), "{foreign}");
    assert!(is_local("127.0.0.1".parse().unwrap()) && !is_local("192.0.2.1".parse().unwrap()));
}

#[test]
fn processes_that_share_a_port_are_all_found() {
    let port = free_port();
    let mut first = Actor::start();
    let mut second = Actor::start();
    first.run(&format!("listen {port}"));
    second.run(&format!("listen {port}"));
    let mut expected = vec![first.pid(), second.pid()];
    expected.sort_unstable();
    let found = find(address("127.0.0.1", port)).unwrap();
    // Their parent is this process, which is not part of the server.
    assert_eq!((found.pids, found.roots), (expected.clone(), expected));
}

#[test]
fn workers_of_one_master_have_it_as_their_root() {
    let port = free_port();
    let mut master = Actor::start();
    let mut workers = [0; 2].map(|_| {
        let pid = master.run("keep").as_nanos() as u32;
        master.run(&format!("forward listen {port}"));
        master.run("reply");
        pid
    });
    workers.sort_unstable();
    let found = find(address("127.0.0.1", port)).unwrap();
    assert_eq!((found.pids, found.roots), (workers.to_vec(), vec![master.pid()]));
    // A master that listens too is a holder above the others.
    master.run(&format!("listen {port}"));
    let found = find(address("127.0.0.1", port)).unwrap();
    assert_eq!((found.pids.len(), found.roots), (3, vec![master.pid()]));
}
