//! Invalid configurations: exit code and one line with the value and the remedy.

use crate::shared::server::*;
use brunt_testkit::{Running, listener, until};
use std::net::TcpStream;
use std::process::{Command, Stdio};

/// Runs the command to its end and returns its single line of output.
#[track_caller]
pub fn refused(mut command: Command, code: i32) -> String {
    let output = command.output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(code), "{command:?}: {said}");
    assert!(output.stdout.is_empty());
    assert_eq!(said.lines().count(), 1, "{said}");
    said
}

#[test]
fn a_port_in_use_is_refused() {
    let taken = listener();
    let address = taken.local_addr().unwrap();
    for model in models() {
        let said = refused(serve(&format!("--listen {address} --model {model}")), 1);
        assert!(
            said.contains(&format!("cannot listen on {address}")) && said.contains("choose another port"),
            "{said}"
        );
        // The first of the two ports may be free.
        let said = refused(serve(&format!("--listen 127.0.0.1:0 --listen {address} --model {model}")), 1);
        assert!(said.contains(&format!("cannot listen on {address}")), "{said}");
    }
}

#[test]
fn a_port_of_another_brunt_is_refused_and_never_shared() {
    // Each model in both roles.
    let pairs = models().zip(models().cycle().skip(1));
    for (first, second) in pairs.chain([("uring", "uring"), ("tokio", "uring")]) {
        let server = Server::of_model(first, "");
        let said = refused(serve(&format!("--listen {} --model {second}", server.address())), 1);
        assert!(said.contains("another process has it"), "{said}");
        // Also with the port bound on all addresses.
        let said = refused(serve(&format!("--listen 0.0.0.0:{} --model {second}", server.address().port())), 1);
        assert!(said.contains("another process has it"), "{said}");
        let mut clients: Vec<_> = (0..20).map(|_| connect(server.address())).collect();
        clients.iter_mut().for_each(|client| ask(client, b"still the first?"));
    }
}

#[test]
fn one_of_many_servers_started_at_once_gets_the_port() {
    for model in models() {
        let address = format!("127.0.0.1:{}", free_port());
        assert_one_of_eight_serves(&format!("--listen {address} --model {model}"), || {
            TcpStream::connect(&address).is_ok()
        });
    }
}

/// Starts eight servers with these flags at once: one serves, the others exit with code 1.
#[track_caller]
pub fn assert_one_of_eight_serves(flags: &str, connects: impl Fn() -> bool) {
    let start = |_| Running::start(serve(&format!("{flags} --quiet")).stderr(Stdio::null()));
    let mut running: Vec<Running> = (0..8).map(start).collect();
    // All but one exit by themselves.
    until("seven have exited", || running.iter().filter(|one| one.is_over()).count() >= 7);
    let over = running.extract_if(.., |one| one.is_over());
    let codes: Vec<_> = over.map(|mut one| one.end().code()).collect();
    let left = running.len();
    // The address is bound before the server listens.
    until("the one that is left listens", || left != 1 || connects());
    let served = connects();
    assert!(left == 1 && served, "{flags}: {left} of 8 serve");
    assert!(codes.iter().all(|code| *code == Some(1)), "{flags}: {codes:?}");
}

#[test]
fn an_absent_core_is_refused() {
    for model in models() {
        for cores in ["1023", "0,1023", "1023,0"] {
            let said = refused(serve(&format!("--listen 127.0.0.1:0 --cores {cores} --model {model}")), 1);
            assert!(said.contains("core 1023") && said.contains("this process may use core"), "{said}");
        }
    }
}

#[test]
fn an_address_of_another_host_is_refused() {
    for model in models() {
        // TEST-NET-1 of RFC 5737, not assigned to any interface.
        let said = refused(serve(&format!("--listen 192.0.2.1:{} --model {model}", free_port())), 1);
        assert!(said.contains("cannot listen on 192.0.2.1") && said.contains("no such address"), "{said}");
    }
}

#[test]
fn transcripts() {
    trycmd::TestCases::new().case("tests/cmd/serve-*.trycmd");
}
