//! Echo over TCP and Unix sockets.

use crate::worlds::{
    FIRST, HANDSHAKE, LAG, MS, Run, SECOND, Serve, US, WAY, address, exact, open, options, run, times, turns, values,
};
use brunt_load::{Options, Target};
use brunt_results::LatencySummary;
use brunt_runtime::net::Address;
use std::time::Duration;

fn target() -> Target {
    Target::Echo { address: address().into(), size: 64, reuse: None }
}

/// How often `each` ends in a window.
fn fits(each: Duration, window: Duration) -> u64 {
    ((window.as_nanos() - 1) / each.as_nanos()) as u64
}

#[test]
fn a_closed_loop_makes_as_many_requests_as_there_is_time_for() {
    for (connections, threads, workers, work, each) in [
        (1, 1, 1, "none", WAY),
        (1, 1, 1, "sleep=75us", 76 * US + WAY),
        (1, 1, 1, "spin=75us", 75 * US + WAY),
        (10, 2, 2, "sleep=975us", 976 * US + WAY),
        (40, 4, 3, "sleep=975us", 976 * US + WAY),
    ] {
        let options = Options { connections, threads: vec![None; threads], ..options(target()) };
        let Run { report, responses, server } = run(&exact(), &options, Serve::echo(work, workers)).unwrap();
        let (result, connections) = (report.result, connections as u64);
        let count = fits(each, SECOND) * connections;
        let requests = &result.requests;
        assert_eq!((requests.completed, requests.failed, requests.unanswered), (count, 0, connections), "{work}");
        assert_eq!(values(&responses), values(&times(count, each)), "{work}");
        assert_eq!(result.latency.service, LatencySummary::of(&times(count, each)));
        assert_eq!((server.accepted, server.failed, server.cut), (connections, 0, 0), "{work}");
        assert_eq!((result.bytes.sent, result.bytes.received), ((count + connections) * 64, count * 64));
    }
}

#[test]
fn an_open_loop_sends_each_request_when_it_is_due() {
    for (connections, threads, workers) in [(1, 1, 1), (10, 1, 2), (10, 2, 3)] {
        let options = open(target(), 1000.0, connections, threads);
        let Run { report, responses, server } = run(&exact(), &options, Serve::echo("sleep=75us", workers)).unwrap();
        let result = report.result;
        assert_eq!((result.requests.completed, result.errors.total(), result.requests.waited), (1000, 0, Some(0)));
        assert_eq!(values(&responses), values(&times(1000, LAG + 76 * US + WAY)));
        assert_eq!(result.latency.service, LatencySummary::of(&times(1000, 76 * US + WAY)));
        assert_eq!(result.latency.lag, LatencySummary::of(&times(1000, LAG)));
        assert_eq!((server.accepted, server.failed, server.cut), (connections as u64, 0, 0));
    }
}

/// Work that occupies a worker makes all of its connections wait. What arrives together is served one after another, in one turn,
/// which sends the replies when it is over.
#[test]
fn work_of_a_worker_is_done_one_request_at_a_time() {
    for (connections, workers) in [(2, 1), (5, 1), (6, 6)] {
        let options = Options { connections, ..options(target()) };
        let Run { report, responses, .. } = run(&exact(), &options, Serve::echo("spin=200us", workers)).unwrap();
        let requests = report.result.requests;
        assert_eq!((requests.completed, requests.failed), (responses.len(), 0));
        assert_eq!(requests.unanswered, connections as u64);
        // A worker of a group has some of the connections, by chance.
        let mut served = 0;
        for (time, count) in values(&responses) {
            let of_worker = (time.as_micros() as u64 - WAY.as_micros() as u64) / 200;
            let each = 200 * US * of_worker as u32 + WAY;
            let workers = count / (of_worker * fits(each, SECOND));
            assert_eq!([(time, count)], values(&times(workers * of_worker * fits(each, SECOND), each))[..]);
            served += workers * of_worker;
        }
        assert_eq!(served, connections as u64);
    }
}

#[test]
fn unix_sockets_have_no_way_between_them() {
    let path: Address = Address::Unix("/nowhere/but/in/the/world".into());
    let target = Target::Echo { address: path.clone(), size: 64, reuse: None };
    let Serve::Tcp(server) = Serve::echo("none", 1) else { unreachable!() };
    let server = brunt_serve::Options { listen: vec![path], ..server };
    let options = Options { duration: 100 * MS, ..options(target) };
    let Run { report, responses, server } = run(&exact(), &options, Serve::Tcp(server)).unwrap();
    // A turn of each.
    let count = fits(2 * US, 100 * MS);
    let requests = &report.result.requests;
    assert_eq!((requests.completed, requests.failed, requests.unanswered), (count, 0, 1));
    assert_eq!(values(&responses), values(&times(count, 2 * US)));
    assert_eq!((server.accepted, server.failed, server.cut), (1, 0, 0));
}

/// The client sends a window of 128 KiB in one turn, and the next one when the server has read it: a way there and back. The server
/// sends a receive buffer at a time: 32 KiB, of the first window 4 KiB, as buffers are small until they are found to be full. In
/// its turn it is alone, so that four are calls and a fifth is a request, for which the sixth waits: a window of large ones takes a
/// turn.
#[test]
fn a_message_larger_than_a_window_comes_back_whole() {
    for (blocks, windows) in [(1, 1), (4, 1), (8, 1), (16, 2), (32, 4), (64, 8)] {
        let size = blocks * (16 << 10);
        let options =
            Options { duration: 10 * MS, ..options(Target::Echo { address: address().into(), size, reuse: None }) };
        let Run { report, server, responses } = run(&exact(), &options, Serve::echo("none", 1)).unwrap();
        let window = blocks as u32 / windows;
        let small = window * 4;
        let each = WAY + 21 * US * (windows - 1);
        let first = each + (small.div_ceil(5) - 1) * US;
        let count = fits(each, 10 * MS - first);
        let mut expected = times(count, each);
        expected.record(first.as_nanos() as u64).unwrap();
        let expected = values(&expected);
        assert_eq!(values(&responses), expected, "{blocks}");
        let requests = &report.result.requests;
        assert_eq!((requests.completed, requests.failed, requests.unanswered), (count + 1, 0, 1));
        assert!(report.result.bytes.received >= requests.completed * size as u64);
        assert_eq!((server.accepted, server.failed, server.cut), (1, 0, 0));
    }
}

/// The time that it takes to replace a connection belongs to the request that waits for it.
#[test]
fn connections_are_replaced_after_their_requests() {
    let target = Target::Echo { address: address().into(), size: 64, reuse: Some(10) };
    let options = Options { connections: 4, ..options(target) };
    let Run { report, responses, server } = run(&exact(), &options, Serve::echo("none", 1)).unwrap();
    let (result, first) = (report.result, HANDSHAKE + FIRST);
    // Of each connection, in turns of ten; the first one is open before the load.
    let ends = (1..).scan(Duration::ZERO, |at, number| {
        let time = if number % 10 == 1 && number > 1 { first } else { WAY };
        *at += time;
        Some((*at, time))
    });
    let mut expected = brunt_results::latency::new_histogram();
    ends.take_while(|(at, _)| *at < SECOND).for_each(|(_, time)| expected.record_n(time.as_nanos() as u64, 4).unwrap());
    assert_eq!(values(&responses), values(&expected));
    let requests = &result.requests;
    assert_eq!((requests.completed, requests.failed, requests.unanswered), (expected.len(), 0, 4));
    assert_eq!((result.errors.total(), server.failed, server.cut), (0, 0, 0));
    assert_eq!((result.connections.opened, result.connections.peak), (server.accepted, 4));
}

#[test]
fn connections_of_an_open_loop_are_replaced_between_its_requests() {
    let target = Target::Echo { address: address().into(), size: 64, reuse: Some(10) };
    let options = Options { direct: turns(), ..open(target, 1000.0, 4, 1) };
    let Run { report, responses, server } = run(&exact(), &options, Serve::echo("none", 1)).unwrap();
    let result = report.result;
    // A connection is replaced as soon as it has carried its requests.
    assert_eq!(values(&responses), values(&times(1000, LAG + WAY)));
    assert_eq!((result.requests.completed, result.requests.waited, result.errors.total()), (1000, Some(0), 0));
    // All 3000 requests, ten a connection, and those that are open at the end.
    assert_eq!((result.connections.opened, server.accepted), (304, 304));
}
