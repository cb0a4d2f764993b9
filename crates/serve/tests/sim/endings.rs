//! The stop: idle connections close at once, requests in progress are answered within the grace time, and what remains then is
//! closed.

use crate::clients::{Client, End};
use crate::rule::SEEN;
use crate::worlds::{MS, ONE_WAY, SECOND, Server, US, WAY, address, clock, exact, options, until};
use brunt_runtime::{Spinning, time};
use brunt_serve::http::{self, Plan, Service, Settings};
use brunt_serve::{Counts, Model};
use std::{iter, time::Duration};

/// From the end of service until the caller knows that the server has ended.
const ENDED: Duration = Duration::from_micros(2);
/// The same if connections are left, which are closed in a turn.
const ENDED_OTHERS: Duration = Duration::from_micros(3);

/// When a server that is stopped then looks whether connections are left: after 200 us, then after twice as long each time, up to 5 ms.
fn looks(stop: Duration) -> impl Iterator<Item = Duration> {
    let pauses = iter::successors(Some(200 * US), |pause| Some((*pause * 2).min(5 * MS)));
    // A turn learns of the stop, and each sleep ends in one.
    pauses.scan(stop + US, |at, pause| {
        *at += pause + US;
        Some(*at)
    })
}

/// When the server has ended, after a stop at `stop`; and its counts.
async fn ends(server: Server, stop: Duration) -> (Duration, Counts) {
    until(stop).await;
    server.stop();
    server.end().await
}

fn httpbin(grace: Duration) -> http::Options {
    let plan = Plan::service(Service::Httpbin, vec![address()]);
    http::Options { grace, ..options(plan, Settings::default()) }
}

#[test]
fn idle_connections_end_at_once() {
    let serve = async || {
        let server = Server::http(httpbin(600 * SECOND)).await;
        let mut clients = Vec::new();
        for _ in 0..20 {
            let mut client = Client::connect().await;
            client.get("/health", "OK\n").await;
            clients.push(brunt_runtime::spawn(async move { client.end().await }));
        }
        let (ended, counts) = ends(server, SECOND).await;
        for client in clients {
            let end = client.await.unwrap();
            // The turn that learns of it is as a tick.
            assert_eq!((end.at, end.reset, &*end.said), (SECOND + SEEN, false, ""));
        }
        assert_eq!(counts, Counts { accepted: 20, failed: 0, cut: 0 });
        assert_eq!(Some(ended), looks(SECOND).next().map(|look| look + ENDED));
    };
    exact(1).run(serve()).unwrap();
}

#[test]
fn a_request_in_progress_is_the_last_one_answered() {
    let serve = async || {
        let server = Server::http(httpbin(600 * SECOND)).await;
        let mut client = Client::connect().await;
        until(100 * MS).await;
        client.send("GET /delay/2 HTTP/1.1\r\nHost: a\r\n\r\nGET /status/201 HTTP/1.1\r\nHost: a\r\n\r\n").await;
        let client = brunt_runtime::spawn(async move { client.end().await });
        let (ended, counts) = ends(server, 400 * MS).await;
        let end = client.await.unwrap();
        let answered = 2100 * MS + US + WAY;
        assert!(end.said.starts_with("HTTP/1.1 200 ") && !end.said.contains("HTTP/1.1 201 "), "{end:?}");
        assert_eq!((end.at, end.reset), (answered, false));
        assert_eq!(counts, Counts { accepted: 1, failed: 0, cut: 0 });
        assert_eq!(Some(ended), looks(400 * MS).find(|look| *look >= answered).map(|look| look + ENDED));
    };
    exact(1).run(serve()).unwrap();
}

#[test]
fn requests_longer_than_the_grace_period_are_closed() {
    let serve = async || {
        let server = Server::http(httpbin(300 * MS)).await;
        let mut client = Client::connect().await;
        until(100 * MS).await;
        client.send("GET /delay/9 HTTP/1.1\r\nHost: a\r\n\r\n").await;
        let (ended, counts) = ends(server, SECOND).await;
        let end = client.end().await;
        assert_eq!(counts, Counts { accepted: 1, failed: 0, cut: 1 });
        // The grace time begins in the turn that learns of the stop, and ends in one.
        let over = 1300 * MS + 2 * US;
        assert_eq!(
            (ended, end),
            (over + ENDED_OTHERS, End { at: over + US + ONE_WAY, reset: false, said: String::new() })
        );
    };
    exact(1).run(serve()).unwrap();
}

#[test]
fn clients_of_tcp_delay_the_end_by_the_grace_period_only() {
    let echo = brunt_serve::Options {
        service: brunt_serve::Service::Echo(brunt_serve::Work::None),
        listen: vec![address().into()],
        model: Model::Uring.into(),
        workers: vec![None, None],
        grace: 300 * MS,
        spin: Spinning::default(),
        pool: None,
        message: 0,
    };
    let serve = async || {
        let server = Server::tcp(echo).await;
        let mut clients = Vec::new();
        for _ in 0..20 {
            let mut client = Client::connect().await;
            client.send("hello").await;
            client.pieces("hello").await;
            clients.push(client);
        }
        until(SECOND).await;
        server.stop();
        // They are served until then.
        let served = brunt_runtime::spawn(async move {
            time::sleep(290 * MS).await;
            clients[0].send("last words").await;
            assert_eq!(clients[0].pieces("words").await[0].1, "last words");
            let mut ends = Vec::new();
            for mut client in clients {
                ends.push(client.end().await);
            }
            ends
        });
        let (ended, counts) = server.end().await;
        let ends = served.await.unwrap();
        assert_eq!(counts, Counts { accepted: 20, failed: 0, cut: 20 });
        let over = 1300 * MS + 2 * US;
        assert_eq!(ended, over + ENDED_OTHERS);
        let end = End { at: over + US + ONE_WAY, reset: false, said: String::new() };
        assert!(ends.iter().all(|own| *own == end), "{ends:?}");
        clock()
    };
    exact(1).run(serve()).unwrap();
}
