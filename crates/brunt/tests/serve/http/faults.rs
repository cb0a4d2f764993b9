//! Injected faults: the bytes on the wire are exactly those of the routes.

use crate::http::on_every_model;
use crate::shared::client::*;
use brunt_testkit::Signal;

on_every_model! {
    a_reset_fault_resets_the_connection
    truncated_responses_announce_the_whole_length
    garbage_is_not_http
    stalled_requests_get_no_answer
    faults_follow_their_schedules
    connections_are_refused_by_the_listener
}

/// A server with this fault on `/`, and none on `/fine`.
fn faulty(model: &str, keys: &str, flags: &str) -> (crate::shared::server::Server, brunt_testkit::Home) {
    let routes = format!(
        "[[route]]\npath = \"/fine\"\ntext = \"fine\"\n[[route]]\npath = \"/\"\ntext = \"0123456789\"\nfault = {{ {keys} }}\n"
    );
    start_routes(model, &routes, flags)
}

fn a_reset_fault_resets_the_connection(model: &str) {
    let (server, _directory) = faulty(model, "kind = \"reset\"", "");
    let mut client = Client::connect(server.address());
    assert_eq!(client.get("/fine").text(), "fine");
    client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(client.reset(), (true, Vec::new()));
}

fn truncated_responses_announce_the_whole_length(model: &str) {
    for bytes in [0, 4] {
        let (server, _directory) = faulty(model, &format!("kind = \"truncate\", bytes = {bytes}"), "");
        let mut client = Client::connect(server.address());
        client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
        let head = client.head();
        assert_eq!((head.status, head.field("Content-Length")), (200, Some("10")));
        assert_eq!(client.rest(), &b"0123456789"[..bytes]);
    }
}

fn garbage_is_not_http(model: &str) {
    let (server, _directory) = faulty(model, "kind = \"garbage\"", "");
    let mut client = Client::connect(server.address());
    client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    let garbage = client.rest();
    assert!(!garbage.is_empty() && !garbage.starts_with(b"HTTP"), "{garbage:?}");
}

fn stalled_requests_get_no_answer(model: &str) {
    let (server, _directory) = faulty(model, "kind = \"stall\"", "--grace 10m");
    let mut client = Client::connect(server.address());
    // In one piece: when the first one is answered, the others have arrived.
    client.send(["/fine", "/", "/fine"].map(|path| format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n")).concat());
    assert_eq!(client.answer().text(), "fine");
    // The stop ends a stalled request as it ends an idle connection, and as the deadline of those does.
    server.signal(Signal::TERM);
    assert_eq!(client.rest(), b"");
    assert!(server.end().0.success());
}

fn faults_follow_their_schedules(model: &str) {
    let hits = |keys: &str| {
        let (server, _directory) = faulty(model, &format!("kind = \"truncate\", {keys}"), "");
        let hit = |_| {
            let mut client = Client::connect(server.address());
            client.send("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
            client.head();
            client.rest().is_empty()
        };
        (0..40).map(hit).collect::<Vec<_>>()
    };
    let tenth: Vec<bool> = (1..=40).map(|number| number % 10 == 0).collect();
    assert_eq!(hits("every = 10"), tenth);
    assert_eq!(hits("after = \"1h\""), [false; 40]);
    assert_eq!(hits("for = \"1h\""), [true; 40]);
    let half = hits("share = 0.5");
    let count = half.iter().filter(|hit| **hit).count();
    assert!((8..=32).contains(&count), "{count} of 40");
    assert_eq!(hits("share = 0.5"), half, "the seed is the same");
}

fn connections_are_refused_by_the_listener(model: &str) {
    let routes = "[[listener]]\nservice = \"hello\"\nrefuse = { every = 2 }\nlisten = \"127.0.0.1:1\"\n";
    let (server, _directory) = start_routes(model, routes, "");
    let ends = (0..6).map(|_| {
        // The reset may come before connect returns, or before the request is sent.
        let Some(mut client) = Client::try_connect(server.address()) else { return true };
        if !client.try_send("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n") {
            return true;
        }
        client.reset().0
    });
    assert_eq!(ends.collect::<Vec<_>>(), [false, true, false, true, false, true]);
}
