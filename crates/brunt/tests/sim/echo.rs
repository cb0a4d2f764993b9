//! Echo over TCP and Unix sockets.

use crate::worlds::{LAG, MS, Run, SECOND, Serve, US, WAY, address, exact, open, options, run, times, values};
use brunt_load::{Options, Target};
use brunt_results::LatencySummary;
use brunt_runtime::net::Address;
use std::time::Duration;

fn target() -> Target {
    Target::Echo { address: address().into(), size: 64, reuse: None }
}

#[test]
fn a_closed_loop_makes_as_many_requests_as_there_is_time_for() {
    for (connections, threads, workers, work, each) in [
        (1, 1, 1, "none", WAY),
        (1, 1, 1, "sleep=75us", 76 * US + WAY),
        (1, 1, 1, "spin=75us", 75 * US + WAY),
        (10, 2, 2, "sleep=978us", 979 * US + WAY),
    ] {
        let options = Options { connections, threads: vec![None; threads], ..options(target()) };
        let Run { report, responses, server } = run(&exact(), &options, Serve::echo(work, workers)).unwrap();
        let (result, connections) = (report.result, connections as u64);
        let count = (SECOND.as_nanos() / each.as_nanos()) as u64 * connections;
        let requests = &result.requests;
        assert_eq!((requests.completed, requests.failed, requests.unanswered), (count, 0, connections), "{work}");
        assert_eq!(values(&responses), values(&times(count, each)), "{work}");
        assert_eq!(result.latency.service, LatencySummary::of(&times(count, each)));
        assert_eq!((server.accepted, server.failed, server.cut), (connections, 0, 0), "{work}");
        assert_eq!(result.bytes.received, count * 64);
    }
}

#[test]
fn an_open_loop_sends_each_request_when_it_is_due() {
    for (connections, workers) in [(1, 1), (10, 2)] {
        let options = open(target(), 1000.0, connections);
        let Run { report, responses, server } = run(&exact(), &options, Serve::echo("sleep=75us", workers)).unwrap();
        let result = report.result;
        assert_eq!((result.requests.completed, result.errors.total()), (1000, 0));
        assert_eq!(values(&responses), values(&times(1000, LAG + 76 * US + WAY)));
        assert_eq!(result.latency.lag, LatencySummary::of(&times(1000, LAG)));
        assert_eq!((server.accepted, server.failed, server.cut), (connections as u64, 0, 0));
    }
}

/// Work that occupies a worker makes all of its connections wait: requests of the closed loop are served one after another.
#[test]
fn work_of_a_worker_is_done_one_request_at_a_time() {
    for connections in [2u32, 5] {
        let options = Options { connections: connections as usize, ..options(target()) };
        let result = run(&exact(), &options, Serve::echo("spin=200us", 1)).unwrap().report.result;
        println!("{connections} {:?} {:?}", result.requests, result.latency.service);
    }
}

#[test]
fn unix_sockets_have_no_way_between_them() {
    let path: Address = Address::Unix("/nowhere/but/in/the/world".into());
    let target = Target::Echo { address: path.clone(), size: 64, reuse: None };
    let Serve::Tcp(server) = Serve::echo("none", 1) else { unreachable!() };
    let server = brunt_serve::Options { listen: vec![path], ..server };
    let Run { report, responses, server } = run(&exact(), &options(target), Serve::Tcp(server)).unwrap();
    println!("{:?} {:?} {server:?}", report.result.requests, values(&responses));
}

#[test]
fn a_message_larger_than_a_window_comes_back_whole() {
    let target = Target::Echo { address: address().into(), size: 1 << 20, reuse: None };
    let options = Options { connections: 3, duration: 100 * MS, ..options(target) };
    let Run { report, server, .. } = run(&exact(), &options, Serve::echo("none", 1)).unwrap();
    println!("{:?} {:?} {server:?}", report.result.requests, report.result.latency.service);
}

#[test]
fn connections_are_replaced_after_their_requests() {
    let target = Target::Echo { address: address().into(), size: 64, reuse: Some(10) };
    for rate in [None, Some(1000.0)] {
        let options = Options { connections: 4, rate, ..options(target.clone()) };
        let Run { report, server, .. } = run(&exact(), &options, Serve::echo("none", 1)).unwrap();
        let result = report.result;
        println!("{:?} {:?} {server:?}", result.requests, result.connections);
        assert_eq!((result.errors.total(), server.accepted), (0, result.connections.opened));
        let _ = Duration::ZERO;
    }
}
