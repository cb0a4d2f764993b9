//! CPU time without requests.

use crate::shared::server::*;
use std::process::Command;
use std::time::Duration;

/// Waits until the server has used a tenth of a second of CPU time, with no client.
fn until_used(server: &Server, what: &str) {
    let end = server.cpu_time() + Duration::from_millis(100);
    brunt_testkit::until(&format!("{what} uses CPU time"), || server.cpu_time() >= end);
}

#[test]
fn a_standing_cost_is_used_without_requests_on_every_model() {
    for model in models() {
        let mut server = Server::of_model(model, "--standing 2ms@100Hz");
        assert_eq!(server.line(), "brunt serve: uses 2ms@100Hz of CPU time, with requests or without", "{model}");
        until_used(&server, model);
        server.signal(Signal::TERM);
        let (status, _, said) = server.end();
        assert!(status.success() && said.contains("stopped; 0 connections served"), "{model}: {said}");
    }
}

#[test]
fn an_http_server_has_one_too() {
    for model in ["uring", "epoll", "tokio"] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_brunt"));
        let flags = ["serve", "http", "--listen", "127.0.0.1:0", "--standing", "2ms@100Hz", "--model", model];
        command.args(flags);
        until_used(&Server::start(command), model);
    }
}
