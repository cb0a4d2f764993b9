//! Several hosts in one load: assignment of connections and requests.

use crate::shared::{run, web::*};
use brunt_load::Options;
use brunt_load::http::{Expect, Host, Http, Rendered, Requests};
use brunt_testkit::listener;
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

/// `GET /NUMBER` for each host, by its index; hosts are given with their weights.
fn all(hosts: &[(SocketAddr, u64)], reuse: Option<u64>) -> Http {
    let host = |(number, (address, weight)): (usize, &(SocketAddr, u64))| {
        let goal = brunt_load::http::RequestTarget { host: address.to_string(), ..goal(&format!("/{number}"), 1) };
        let rendered = Rendered::render(&template(), &[goal], None, brunt_load::http::Pipeline::NONE, reuse).unwrap();
        let requests = Requests::Rendered(Arc::new(rendered));
        Host { address: (*address).into(), tunnel: None, requests, weight: *weight, tls: None }
    };
    Http { hosts: hosts.iter().enumerate().map(host).collect(), reuse, expect: Expect::default(), names: Vec::new() }
}

/// Two hosts that hold their replies until each has a request: the one that the scheduler favours could answer all.
#[derive(Clone, Default)]
struct Both(Arc<[AtomicBool; 2]>);

impl Both {
    /// Waits for the other host; true.
    fn asked(&self, request: &Request) -> bool {
        self.0[usize::from(request.target() == "/1")].store(true, Relaxed);
        once(2, || self.0.iter().map(|asked| u64::from(asked.load(Relaxed))).sum()) == 2
    }

    fn reset(&self) {
        self.0.iter().for_each(|asked| asked.store(false, Relaxed));
    }
}

#[test]
fn connections_are_shared_out_by_weight_and_keep_their_host() {
    let both = Both::default();
    let servers = [3, 1].map(|weight| {
        let both = both.clone();
        (web(move |stream, request| both.asked(request) && say(stream, &ok("hello"))), weight)
    });
    let hosts = servers.each_ref().map(|((address, _), weight)| (*address, *weight));
    for (threads, rate) in [(1, None), (3, None), (2, Some(1000.0))] {
        both.reset();
        let before = servers.each_ref().map(|((_, seen), _)| (seen.connections(), seen.requests()));
        let options = Options { connections: 8, threads: vec![None; threads], rate, ..some(400, all(&hosts, None)) };
        let result = run(&options).result;
        assert_eq!((result.requests.completed, result.errors.total()), (400, 0), "{:?}", result.errors);
        assert_eq!(result.connections.opened, 8);
        let shares: Vec<u64> =
            servers.iter().zip(&before).map(|(((_, seen), _), before)| seen.requests() - before.1).collect();
        assert!(shares.iter().all(|share| *share > 0), "{shares:?}");
        for (number, (((address, seen), weight), before)) in servers.iter().zip(before).enumerate() {
            let opened = 2 * weight;
            assert_eq!(seen.connections_of(before.0 + opened) - before.0, opened);
            let head = format!("GET /{number} HTTP/1.1\r\nHost: {address}");
            assert!(seen.log.lock().unwrap().iter().all(|request| request.head == head), "{number}");
        }
    }
}

#[test]
fn a_replaced_connection_keeps_its_host() {
    let both = Both::default();
    let servers = [1, 1].map(|weight| {
        let both = both.clone();
        (web(move |stream, request| both.asked(request) && say_last(stream, &ok("hello"))), weight)
    });
    let hosts = servers.each_ref().map(|((address, _), weight)| (*address, *weight));
    let result = run(&some(200, all(&hosts, Some(1)))).result;
    assert_eq!((result.requests.completed, result.errors.total()), (200, 0), "{:?}", result.errors);
    let [first, second] = servers.each_ref().map(|((_, seen), _)| seen);
    let opened = result.connections.opened;
    assert_eq!(once(opened, || first.connections() + second.connections()), opened);
    for (number, ((_, seen), _)) in servers.iter().enumerate() {
        assert!(seen.log.lock().unwrap().iter().all(|request| request.target() == format!("/{number}")));
        assert!(seen.requests() > 0);
    }
}

#[test]
fn hosts_may_answer_differently() {
    let both = Both::default();
    let other = both.clone();
    let (plain, _) = web(move |stream, request| both.asked(request) && say(stream, &ok("hello")));
    let (wordy, _) = web(move |stream, request| {
        other.asked(request) && say(stream, "HTTP/1.1 201 Made\r\nContent-Length: 2\r\nX-Long: yes\r\n\r\nhi")
    });
    let result =
        run(&Options { connections: 4, rate: Some(1000.0), ..some(400, all(&[(plain, 1), (wordy, 1)], None)) });
    let responses = result.result.responses.unwrap();
    let [found, made] = ["200", "201"].map(|status| responses.statuses[status]);
    assert_eq!((found + made, responses.body_bytes), (400, Some(5 * found + 2 * made)));
    assert!(found > 0 && made > 0);
}

#[test]
fn a_host_without_a_listener_ends_the_run_at_once() {
    let (there, _) = web(|stream, _| say(stream, &ok("hello")));
    let gone = listener().local_addr().unwrap();
    let options = Options { connections: 10, ..short(all(&[(there, 9), (gone, 1)], None)) };
    let error = brunt_load::run(&options, &mut brunt_load::Silent).unwrap_err().to_string();
    assert!(error.contains(&gone.to_string()) && error.contains("refused"), "{error}");
}

#[test]
fn an_unresponsive_host_is_named() {
    let (there, _) = web(|stream, _| say(stream, &ok("hello")));
    // Its accept queue is full.
    let full = listener();
    rustix::net::listen(&full, 0).unwrap();
    let silent = full.local_addr().unwrap();
    let patience = Duration::from_millis(300);
    let _queue: Vec<TcpStream> = (0..16).map_while(|_| TcpStream::connect_timeout(&silent, patience).ok()).collect();
    let http = all(&[(there, 1), (silent, 1)], None);
    let options = Options { timeout: patience, ..short(http) };
    let error = brunt_load::run(&options, &mut brunt_load::Silent).unwrap_err().to_string();
    assert!(error.contains(&silent.to_string()) && error.contains("did not answer"), "{error}");
}

#[test]
fn more_hosts_than_connections_are_rejected() {
    let address = listener().local_addr().unwrap();
    let options = Options { connections: 2, ..short(all(&[(address, 1); 3], None)) };
    let error = brunt_load::run(&options, &mut brunt_load::Silent).unwrap_err().to_string();
    assert!(error.starts_with("2 connections for 3 hosts") && error.contains("-c"), "{error}");
}
