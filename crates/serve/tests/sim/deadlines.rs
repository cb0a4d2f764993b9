//! Slow clients: each is disconnected at its deadline, however it trickles, and others are served meanwhile.

use crate::clients::{Client, End, metrics_are};
use crate::rule::{Rule, SEEN, SEEN_ALONE};
use crate::worlds::{MS, ONE_WAY, SECOND, Server, US, WAY, address, clock, exact, options, page, routes, run, until};
use brunt_runtime::time;
use brunt_serve::http::{Plan, Service, Settings};
use brunt_tls::{Acceptor, Identity};
use std::time::Duration;

fn plan(service: Service) -> Plan {
    Plan::service(service, vec![address()]).with_metrics(Some(page()))
}

/// Sends the beginning of a request at `begun`, then a byte every 7 ms, and waits for the end.
async fn dribble(begun: Duration, beginning: &str) -> End {
    let mut client = Client::connect().await;
    until(begun).await;
    client.send(beginning).await;
    for nth in 1.. {
        if !client.hear_until(begun + nth * 7 * MS).await {
            break;
        }
        client.send("x").await;
    }
    client.end().await
}

/// Asserts that a 408 ends it, which is sent when a phase of this deadline that began then is over.
fn ended_by_408(end: &End, settings: &Settings, began: Duration, deadline: Duration) {
    assert!(end.said.starts_with("HTTP/1.1 408 ") && end.said.contains("\r\nConnection: close\r\n"), "{end:?}");
    let over = Rule::of(settings).over(began, deadline);
    assert_eq!((end.at, end.reset), (over + SEEN_ALONE, false));
    assert!((deadline..=deadline + 3 * Rule::of(settings).tick).contains(&(end.at - began)), "{end:?} since {began:?}");
}

#[test]
fn heads_that_never_end_are_408() {
    let settings = Settings { header: 400 * MS, ..Settings::default() };
    for begun in [3 * MS, 49 * MS, 51 * MS, 120 * MS] {
        let asks = async || {
            let mut other = Client::connect().await;
            let end = dribble(begun, "GET / HTTP/1.1\r\nHost: a\r\nX-Slow: ").await;
            ended_by_408(&end, &settings, begun + ONE_WAY, settings.header);
            assert_eq!(other.get("/", "there!\n").await, [(WAY, "Hi, there!\n".to_owned())]);
            // The client has gone when it saw the end.
            metrics_are(["brunt_http_timeouts_total 1", "brunt_http_connections_open 2"]).await;
        };
        run(options(plan(Service::Hello), settings.clone()), asks);
    }
}

#[test]
fn bodies_that_never_end_are_408() {
    let settings = Settings { body: 400 * MS, ..Settings::default() };
    for begun in [3 * MS, 49 * MS, 51 * MS, 120 * MS] {
        let asks = async || {
            let end = dribble(begun, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n").await;
            ended_by_408(&end, &settings, begun + ONE_WAY, settings.body);
        };
        run(options(plan(Service::Echo), settings.clone()), asks);
    }
}

/// A head has its deadline, and the body behind it has another.
#[test]
fn the_body_has_its_time_when_the_head_has_ended() {
    let settings = Settings { header: 200 * MS, body: 300 * MS, ..Settings::default() };
    let asks = async || {
        let mut client = Client::connect().await;
        until(10 * MS).await;
        client.send("POST / HTTP/1.1\r\nHost: a\r\n").await;
        until(190 * MS).await;
        client.send("Content-Length: 9\r\n\r\n").await;
        ended_by_408(&client.end().await, &settings, 190 * MS + ONE_WAY, settings.body);
    };
    run(options(plan(Service::Echo), settings.clone()), asks);
}

#[test]
fn idle_connections_are_closed_and_busy_ones_are_not() {
    let settings = Settings { idle: 2 * SECOND, ..Settings::default() };
    let rule = Rule::of(&settings);
    let asks = async || {
        let mut idle = Client::connect().await;
        let accepted = clock();
        let idle = brunt_runtime::spawn(async move { idle.end().await });
        let mut busy = Client::connect().await;
        // Each request comes just before the deadline of the one before.
        for nth in 1..=10 {
            until(nth * 1990 * MS).await;
            assert_eq!(busy.get("/", "there!\n").await, [(WAY, "Hi, there!\n".to_owned())]);
        }
        let last = 10 * 1990 * MS + ONE_WAY;
        let (idle, busy) = (idle.await.unwrap(), busy.end().await);
        assert_eq!((&*idle.said, idle.reset, &*busy.said, busy.reset), ("", false, "", false));
        assert_eq!(idle.at, rule.over(accepted, settings.idle) + SEEN);
        assert_eq!(busy.at, rule.over(last, settings.idle) + SEEN);
        metrics_are(["brunt_http_timeouts_total 2", "brunt_http_connections_open 1"]).await;
    };
    run(options(plan(Service::Hello), settings.clone()), asks);
}

/// Connections are closed eight at a time, with a pause of a millisecond, so that others are served between.
#[test]
fn many_late_connections_are_closed_in_batches() {
    let settings = Settings { idle: 400 * MS, ..Settings::default() };
    let asks = async || {
        let mut ends = Vec::new();
        for _ in 0..20 {
            let mut client = Client::connect().await;
            ends.push(brunt_runtime::spawn(async move { client.end().await.at }));
        }
        let first = Rule::of(&settings).over(clock(), settings.idle) + SEEN;
        let mut at = Vec::new();
        for end in ends {
            at.push(end.await.unwrap());
        }
        // In any order.
        at.sort_unstable();
        assert_eq!(at, (0..20).map(|nth| first + nth / 8 * (MS + US)).collect::<Vec<_>>());
    };
    run(options(plan(Service::Hello), settings.clone()), asks);
}

#[test]
fn clients_that_do_not_read_are_reset() {
    let settings = Settings { send: 400 * MS, ..Settings::default() };
    let world = exact(1);
    world.record_trace();
    let serve = async || {
        let server = Server::http(options(plan(Service::Httpbin), settings.clone())).await;
        let mut greedy = Client::connect().await;
        let mut other = Client::connect().await;
        until(60 * MS).await;
        greedy.send("GET /bytes/16000000 HTTP/1.1\r\nHost: a\r\n\r\n".repeat(4)).await;
        for nth in 1..100 {
            until(60 * MS + nth * 7 * MS).await;
            assert_eq!(other.get("/health", "OK\n").await, [(WAY, "OK\n".to_owned())]);
        }
        metrics_are(["brunt_http_timeouts_total 1", "brunt_http_connections_open 2"]).await;
        assert!(greedy.end().await.reset);
        server.stop();
        server.end().await
    };
    world.run(serve()).unwrap();
    // All that fits is sent within the tick in which it begins.
    let aborts = world.trace().into_iter().filter(|entry| entry.what == "abort").map(|entry| entry.at);
    // A turn of the connection, and one that closes it.
    let over = Rule::of(&settings).over(60 * MS + ONE_WAY, settings.send) + 2 * US;
    assert_eq!(aborts.map(Duration::from_nanos).collect::<Vec<_>>(), [over]);
}

/// A client that takes a little again and again is not late.
#[test]
fn clients_that_read_slowly_are_served() {
    let settings = Settings { send: 400 * MS, ..Settings::default() };
    let asks = async || {
        let mut slow = Client::connect().await;
        slow.send("GET /bytes/4000000 HTTP/1.0\r\n\r\n").await;
        // What arrives meanwhile fills the window, and the server waits.
        for nth in 1..20 {
            until(nth * 390 * MS).await;
            slow.hear_until(clock() + 100 * US).await;
        }
        let end = slow.end().await;
        assert!(!end.reset && end.said.len() > 4_000_000, "{} bytes", end.said.len());
        metrics_are(["brunt_http_timeouts_total 0"]).await;
    };
    run(options(plan(Service::Httpbin), settings.clone()), asks);
}

#[test]
fn stalled_requests_end_with_the_idle_deadline() {
    let settings = Settings { idle: SECOND, ..Settings::default() };
    let stalls = "[[route]]\npath = \"/\"\ntext = \"0123456789\"\nfault = { kind = \"stall\" }\n";
    let asks = async || {
        let mut client = Client::connect().await;
        until(700 * MS).await;
        client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n").await;
        let over = Rule::of(&settings).over(700 * MS + ONE_WAY, settings.idle);
        assert_eq!(client.end().await, End { at: over + SEEN, reset: false, said: String::new() });
    };
    run(options(routes(stalls), settings.clone()), asks);
}

#[test]
fn incomplete_handshakes_are_closed() {
    let settings = Settings { header: 300 * MS, ..Settings::default() };
    let own = Acceptor::new(&Identity::self_signed(&["localhost".to_owned()]).unwrap(), None).unwrap();
    let plan = Plan::service(Service::Hello, vec![address()]).with_tls(Some(&own)).with_metrics(Some(page()));
    let asks = async || {
        until(100 * MS).await;
        let (mut silent, mut half) = (Client::connect().await, Client::connect().await);
        let silent = brunt_runtime::spawn(async move { silent.end().await });
        half.send([22, 3, 1, 2, 0, 1, 0, 1, 0xfc]).await;
        // Counted from the accept: what comes later does not extend it.
        time::sleep(250 * MS).await;
        half.send([3, 3]).await;
        let over = Rule::of(&settings).over(100 * MS, settings.header);
        for end in [half.end().await, silent.await.unwrap()] {
            assert_eq!(end, End { at: over + SEEN, reset: false, said: String::new() });
        }
        metrics_are(["brunt_http_tls_handshakes_total{kind=\"failed\"} 2", "brunt_http_timeouts_total 2"]).await;
    };
    run(options(plan, settings.clone()), asks);
}
