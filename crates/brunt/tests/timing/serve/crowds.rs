//! Many clients that occupy a server without completing a request. Other clients must be served as by a server without them,
//! and the server must not use CPU time for idle ones.

use crate::shared::client::{Client, command};
use crate::shared::server::{Server, cores, limited, with_descriptors};
use brunt_testkit::{Role, alone, at_most, judge};
use std::panic;
use std::thread;
use std::time::Duration;

const MODELS: [&str; 3] = ["uring", "epoll", "tokio"];
/// More than the receive buffers of a worker, the events of a turn, and the entries of a ring.
const HALF: usize = 10_000;
const GREEDY: usize = 200;
/// CPU time of requests beside a crowd, as a multiple of that without it.
const MAX_COST: f64 = 3.0;

/// A server without deadlines in the time of a test and with as many descriptors as possible, which sleeps without polling
/// first: how much a server polls depends on when the next request arrives.
fn server(model: &str) -> Server {
    let flags = format!("--listen 127.0.0.1:0 --model {model} --service httpbin --spin 0");
    Server::start(limited("hard", &command(&format!("{flags} --header-timeout 10m --send-timeout 10m"))))
}

/// Runs a test, and the servers it starts, on one core. Then requests cost the same CPU time in every server. On several, those
/// of a server on the client's core take a quarter of those that wake another core, and servers stay where they are for
/// seconds. The clock of a server is exact too: it is not running while the client reads it, and that of a running process is
/// up to a tick old, longer than a turn.
fn on_one_core(test: impl FnOnce() + Send) {
    let pinned = || {
        brunt_runtime::group::pin_to_core(cores(1)[0]).unwrap();
        test();
    };
    if let Err(panic) = thread::scope(|scope| scope.spawn(pinned).join()) {
        panic::resume_unwind(panic);
    }
}

/// CPU time of the server for 500 requests on 10 new connections.
fn cost(server: &Server) -> Duration {
    let before = server.cpu_time();
    for _ in 0..10 {
        let mut other = Client::connect(server.address());
        (0..50).for_each(|_| assert_eq!(other.get("/ip").status, 200));
    }
    server.cpu_time() - before
}

/// Checks that other clients cost `crowded` about what they cost `control`, a server of the same model without a crowd, at
/// the same time; and that `crowded` then rests.
fn assert_others_unaffected(crowded: &Server, control: &Server, crowd: &str) {
    // It may still be accepting the last of the crowd, or filling the send buffers of the kernel.
    crowded.until_rested(crowd);
    // CPU time instead of latency: caches and interrupts of other processes add to it.
    judge(&format!("{crowd}: 500 requests cost what they cost without the crowd"), || {
        at_most(5, MAX_COST, || (cost(crowded).as_secs_f64(), cost(control).as_secs_f64()))
    });
    crowded.until_rested(crowd);
}

#[test]
fn ten_thousand_half_requests_do_not_slow_others() {
    let _alone = alone();
    if with_descriptors(HALF, Role("serve::crowds::ten_thousand_half_requests_do_not_slow_others")) {
        on_one_core(|| MODELS.iter().for_each(|model| half_requests(model)));
    }
}

fn half_requests(model: &str) {
    let (server, control) = (server(model), server(model));
    let mut half: Vec<_> = (0..HALF)
        .map(|_| {
            let mut client = Client::connect(server.address());
            client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Le");
            client
        })
        .collect();
    assert_others_unaffected(&server, &control, &format!("{model}, half requests"));
    // Another byte from each at the same time.
    half.iter_mut().for_each(|client| client.send("n"));
    assert_others_unaffected(&server, &control, &format!("{model}, more of them"));
    half.iter_mut().for_each(|client| client.send("gth: 0\r\n\r\n"));
    half.iter_mut().for_each(|client| assert_eq!(client.answer().status, 404, "{model}"));
}

#[test]
fn clients_that_read_nothing_do_not_slow_others() {
    let _alone = alone();
    on_one_core(|| MODELS.iter().for_each(|model| unread_responses(model)));
}

fn unread_responses(model: &str) {
    let (server, control) = (server(model), server(model));
    let greedy: Vec<_> = (0..GREEDY)
        .map(|_| {
            let mut client = Client::connect(server.address());
            client.send("GET /bytes/16000000 HTTP/1.1\r\nHost: a\r\n\r\n");
            client
        })
        .collect();
    assert_others_unaffected(&server, &control, &format!("{model}, clients that read nothing"));
    drop(greedy);
}
