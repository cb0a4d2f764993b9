//! Clients that hold a server up, in great number: others are served all the same, and the server does not work for those
//! of whom nothing comes.

use crate::{
    client::{Client, command},
    server::{PATIENCE, Server, alone, limited, with_descriptors},
};
use std::{
    thread,
    time::{Duration, Instant},
};

const MODELS: [&str; 3] = ["uring", "epoll", "tokio"];
/// More than the receive buffers of a worker, more than the events of a turn, more than a ring has entries.
const HALF: usize = 10_000;
const GREEDY: usize = 200;

/// A server that gives nobody up in the time of a test, with as many descriptors as it can have.
fn server(model: &str) -> Server {
    let flags =
        format!("--listen 127.0.0.1:0 --model {model} --service httpbin --header-timeout 10m --send-timeout 10m");
    Server::start(limited("hard", &command(&flags)))
}

/// Others are served, those included who come now, and when they are done the server rests.
fn others_are_served(server: &Server, crowd: &str) {
    let start = Instant::now();
    for _ in 0..10 {
        let mut other = Client::connect(server.address());
        (0..30).for_each(|_| assert_eq!(other.get("/ip").status, 200));
    }
    assert!(start.elapsed() < PATIENCE, "{crowd}: {:?}", start.elapsed());
    let worked = |time| {
        let before = server.cpu_time();
        thread::sleep(time);
        server.cpu_time() - before
    };
    // It may have the last of the crowd to accept still.
    let time = Duration::from_millis(200);
    while worked(time) > time / 4 {
        assert!(start.elapsed() < PATIENCE, "{crowd}: the server works though nobody asks");
    }
}

#[test]
fn ten_thousand_half_requests_cost_others_nothing() {
    if !with_descriptors(HALF, "crowds::ten_thousand_half_requests_cost_others_nothing") {
        return;
    }
    let _alone = alone();
    for model in MODELS {
        let server = server(model);
        let mut half: Vec<_> = (0..HALF)
            .map(|_| {
                let mut client = Client::connect(server.address());
                client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Le");
                client
            })
            .collect();
        others_are_served(&server, &format!("{model}, half requests"));
        // All at once, another piece each: what a server must do for it is little, and then it rests again.
        half.iter_mut().for_each(|client| client.send("n"));
        others_are_served(&server, &format!("{model}, more of them"));
        half.iter_mut().for_each(|client| client.send("gth: 0\r\n\r\n"));
        half.iter_mut().for_each(|client| assert_eq!(client.answer().status, 404, "{model}"));
    }
}

#[test]
fn clients_that_read_nothing_cost_others_nothing() {
    let _alone = alone();
    for model in MODELS {
        let server = server(model);
        let greedy: Vec<_> = (0..GREEDY)
            .map(|_| {
                let mut client = Client::connect(server.address());
                client.send("GET /bytes/16000000 HTTP/1.1\r\nHost: a\r\n\r\n");
                client
            })
            .collect();
        others_are_served(&server, &format!("{model}, clients that read nothing"));
        drop(greedy);
    }
}
