//! Sessions: slices of load on connections that stay open.

use crate::targets::{Stream, serve, serve_at};
use crate::worlds::{MS, SIZE, US, WAY, address, addresses, beside, exact, on, options, times, values};
use brunt_load::session::Session;
use brunt_load::{Arrival, Direct, LoadError, Options};
use brunt_results::slice::{Measured, SliceSpec};
use brunt_runtime::net::{Address, Any, Listener};
use brunt_runtime::{CancellationToken, spawn, time};
use std::cell::Cell;
use std::future::{pending, poll_fn};
use std::sync::atomic::AtomicBool;
use std::{pin::pin, rc::Rc, task::Poll, time::Duration};

pub fn order(lead: u64, window: u64, seed: u64) -> SliceSpec {
    SliceSpec { lead: Duration::from_millis(lead), window: Duration::from_millis(window), seed }
}

pub async fn open(options: &Options) -> Session {
    let opened = Session::open_in_world(options, &AtomicBool::new(false)).await;
    opened.unwrap_or_else(|error| panic!("{error}"))
}

/// Makes a slice and checks what holds in every report.
pub async fn slice(session: &mut Session, order: SliceSpec) -> Measured {
    let report = session.slice_in_world(order).await.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(report.window, order.window);
    assert!(report.busy >= order.lead + order.window, "{report:?}");
    assert!(report.completed <= report.replies);
    assert_eq!(report.service.is_some(), report.offered.is_some());
    assert_eq!(report.lag.is_some(), report.offered.is_some());
    report
}

/// What a target has seen.
#[derive(Debug, Default)]
struct Seen {
    connections: Cell<u64>,
    requests: Cell<u64>,
}

/// Reads a message and counts it; false at the end of the connection.
async fn read(stream: &mut Stream, seen: &Seen) -> bool {
    let is_read = stream.read_exact(&mut [0; SIZE]).await.is_ok();
    seen.requests.set(seen.requests.get() + u64::from(is_read));
    is_read
}

async fn answer(stream: &mut Stream) -> bool {
    stream.write_all(&[0; SIZE]).await.is_ok() && stream.flush().await.is_ok()
}

/// Serves each connection on its own, a request in `service`. The load must not check what comes back.
async fn slow(address: Address, service: Duration, seen: Rc<Seen>) {
    serve_at(address, move |mut stream| {
        let seen = seen.clone();
        seen.connections.set(seen.connections.get() + 1);
        async move {
            while read(&mut stream, &seen).await {
                if !service.is_zero() {
                    time::sleep(service).await;
                }
                if !answer(&mut stream).await {
                    return;
                }
            }
        }
    })
    .await;
}

/// A closed loop over two connections.
fn two(address: Address) -> Options {
    Options { connections: 2, direct: Direct { no_verify: true, ..Direct::default() }, ..on(address, options()) }
}

#[test]
fn two_sessions_take_turns_and_each_has_the_times_of_its_target() {
    let services = [2 * MS, 5 * MS];
    // A Unix socket has no delay but that of a turn at each end.
    let times_of = [services[0] + US + WAY, services[1] + US + 2 * US];
    let seen = [(); 2].map(|()| Rc::<Seen>::default());
    let [tcp, unix] = addresses();
    let (first, second) = (slow(tcp, services[0], seen[0].clone()), slow(unix, services[1], seen[1].clone()));
    let targets = async {
        spawn(first);
        second.await;
    };
    beside(&exact(1), targets, async {
        let mut sessions = Vec::new();
        for address in addresses() {
            sessions.push(open(&two(address)).await);
        }
        let mut replies = [0; 2];
        for round in 0..50 {
            for turn in [0, 1] {
                let target = (round + turn) % 2;
                let before = seen.each_ref().map(|seen| seen.requests.get());
                let report = slice(&mut sessions[target], order(6, 24, 1)).await;
                let after = seen.each_ref().map(|seen| seen.requests.get());
                // The other one had no load, and this one has answered everything.
                assert_eq!(after[1 - target], before[1 - target]);
                assert_eq!(report.replies, after[target] - before[target]);
                assert_eq!((report.failed, report.errors.total()), (0, 0), "{:?}", report.errors);
                let response = &report.response;
                let answered = report.completed.min(response.len());
                // Of those in flight at the end of the window, each has its reply.
                assert_eq!(values(response), values(&times(response.len(), times_of[target])), "{answered}");
                replies[target] += report.replies;
            }
        }
        for (seen, replies) in seen.iter().zip(replies) {
            assert_eq!((seen.requests.get(), seen.connections.get()), (replies, 2), "connections persist");
        }
    });
}

#[test]
fn nothing_happens_between_slices() {
    let world = exact(1);
    let at = world.clone();
    let [tcp, _] = addresses();
    beside(&world, slow(tcp.clone(), 5 * MS, Rc::default()), async {
        let mut session = open(&Options { connections: 1000, threads: vec![None, None], ..two(tcp) }).await;
        assert_eq!(session.threads(), [1, 2]);
        for seed in 0..2 {
            let report = slice(&mut session, order(10, 50, seed)).await;
            assert_eq!((report.failed, report.connections.opened), (0, 1000), "{:?}", report.errors);
            // What follows the report.
            time::sleep(Duration::from_secs(1)).await;
            let before = at.trace_len();
            time::sleep(Duration::from_secs(3600)).await;
            // The end of this sleep.
            assert!(at.trace_len() - before <= 2, "{} events", at.trace_len() - before);
        }
    });
}

#[test]
fn a_slice_starts_and_returns_at_once() {
    let [tcp, _] = addresses();
    beside(&exact(1), slow(tcp.clone(), Duration::ZERO, Rc::default()), async {
        let mut session = open(&Options { connections: 8, ..two(tcp) }).await;
        for number in 0..50 {
            let begun = time::now();
            let report = slice(&mut session, order(2, 10, number)).await;
            // Before the lead, whose start is set 100 us ahead, and behind the last reply.
            let gap = time::now() - begun - report.busy;
            assert!((100 * US..110 * US).contains(&gap), "{gap:?}");
            // The window has 454 whole exchanges of 22 us on each connection.
            assert_eq!(report.completed / 8, 454);
        }
    });
}

#[test]
fn an_open_loop_answers_what_was_offered_and_equal_seeds_make_equal_arrivals() {
    for address in addresses() {
        for arrival in [Arrival::Constant, Arrival::Poisson] {
            let seen = Rc::<Seen>::default();
            let target = slow(address.clone(), Duration::ZERO, seen.clone());
            let options = Options {
                rate: Some(2000.0),
                arrival,
                connections: 6,
                threads: vec![None, None],
                ..two(address.clone())
            };
            let (replies, offers) = beside(&exact(1), target, async {
                let mut sessions = [open(&options).await, open(&options).await];
                let (mut replies, mut offers) = (0, Vec::new());
                for seed in 0..20 {
                    let mut reports = Vec::new();
                    for session in &mut sessions {
                        reports.push(slice(session, order(10, 50, seed)).await);
                    }
                    assert_eq!(reports[0].offered, reports[1].offered);
                    for report in reports {
                        let offered = report.offered.unwrap();
                        // Each request of the window has a response time: none has failed.
                        assert_eq!((report.failed, report.response.len()), (0, offered), "{:?}", report.errors);
                        assert!(report.completed + report.unanswered >= offered);
                        replies += report.replies;
                        offers.push(offered);
                    }
                }
                (replies, offers)
            });
            assert_eq!(seen.requests.get(), replies);
            let constant = offers.iter().all(|offered| *offered == 100);
            assert_eq!(constant, arrival == Arrival::Constant, "{offers:?}");
            let mean = offers.iter().sum::<u64>() as f64 / 40.0;
            assert!((mean - 100.0).abs() < 10.0, "{mean}");
        }
    }
}

#[test]
fn requests_that_could_not_be_sent_are_unanswered_and_never_sent() {
    let ([tcp, _], seen) = (addresses(), Rc::<Seen>::default());
    beside(&exact(1), slow(tcp.clone(), 10 * MS, seen.clone()), async {
        // Two connections, at most 200 a second, of 2000.
        let mut session = open(&Options { rate: Some(2000.0), ..two(tcp) }).await;
        for number in 1..=5 {
            let before = seen.requests.get();
            let report = slice(&mut session, order(0, 100, number)).await;
            // Of the window of 100 ms each connection has nine whole exchanges of 10.023 ms; the tenth is answered behind it.
            assert_eq!((report.offered, report.completed, report.unanswered), (Some(200), 18, 182));
            assert_eq!((report.replies, report.abandoned, report.failed), (20, 180, 0));
            assert_eq!((report.response.len(), seen.requests.get() - before), (200, 20));
        }
    });
}

#[test]
fn each_slice_may_have_a_rate_of_its_own() {
    let [tcp, _] = addresses();
    beside(&exact(1), slow(tcp.clone(), Duration::ZERO, Rc::default()), async {
        let load = Options { rate: Some(1.0), threads: vec![None, None], connections: 6, ..two(tcp.clone()) };
        let mut session = open(&load).await;
        for rate in [2000, 500, 40, 2000, 1000] {
            session.set_rate(rate as f64).unwrap();
            let report = slice(&mut session, order(10, 50, 1)).await;
            assert_eq!((report.offered, report.response.len()), (Some(rate / 20), rate / 20));
        }
        for rate in [0.0, -1.0, f64::NAN, 1e8] {
            let error = session.set_rate(rate).unwrap_err().to_string();
            assert!(error.contains("per second cannot be kept"), "{error}");
        }
        let mut session = open(&two(tcp)).await;
        assert!(session.set_rate(9.0).unwrap_err().to_string().contains("a closed loop has no rate"));
        let error = session.slice_in_world(order(10, 0, 1)).await.unwrap_err().to_string();
        assert!(error.contains("window of more than 0s") && !error.contains('\n'), "{error}");
    });
}

#[test]
fn connections_that_the_target_closes_between_slices_are_opened_again() {
    for rate in [None, Some(400.0)] {
        let seen = Rc::<Seen>::default();
        let counts = seen.clone();
        // Ends a connection that is idle for 200 ms.
        let impatient = serve(move |mut stream: Stream| {
            let seen = counts.clone();
            async move {
                while time::timeout(200 * MS, read(&mut stream, &seen)).await.is_ok_and(|is_read| is_read) {
                    answer(&mut stream).await;
                }
            }
        });
        beside(&exact(1), impatient, async {
            let [tcp, _] = addresses();
            let mut session = open(&Options { rate, connections: 4, ..two(tcp) }).await;
            let mut replies = 0;
            for seed in 1..=5 {
                let report = slice(&mut session, order(5, 40, seed)).await;
                replies += report.replies;
                assert_eq!((report.errors.total(), report.connections.opened), (0, 4 * seed));
                time::sleep(500 * MS).await;
            }
            assert_eq!(seen.requests.get(), replies);
        });
    }
}

/// Waits for a future until it is cancelled.
async fn unless(cancelled: &CancellationToken, future: impl Future<Output = ()>) {
    let (mut cancelled, mut future) = (pin!(cancelled.cancelled()), pin!(future));
    poll_fn(|cx| match cancelled.as_mut().poll(cx) {
        Poll::Ready(()) => Poll::Ready(()),
        Poll::Pending => future.as_mut().poll(cx),
    })
    .await;
}

/// An echo that dies with this many requests still to be answered: it closes its listener and all connections.
async fn mortal(left: Rc<Cell<u64>>) {
    let listener = Listener::<Any>::bind(&address().into()).unwrap();
    let dead = CancellationToken::new();
    let accepts = async {
        while let Ok(mut stream) = listener.accept().await {
            let (left, dead) = (left.clone(), dead.clone());
            spawn(async move {
                let serves = async {
                    while read(&mut stream, &Seen::default()).await && answer(&mut stream).await {
                        left.set(left.get() - 1);
                        if left.get() == 0 {
                            dead.cancel();
                        }
                    }
                };
                unless(&dead, serves).await;
            });
        }
    };
    unless(&dead, accepts).await;
    drop(listener);
    pending().await
}

#[test]
fn a_target_that_dies_within_a_slice_has_reports_in_bounded_time() {
    let left = Rc::new(Cell::new(u64::MAX));
    let world = exact(1);
    let at = world.clone();
    beside(&world, mortal(left.clone()), async {
        let [tcp, _] = addresses();
        let mut session = open(&Options { connections: 4, threads: vec![None, None], ..two(tcp) }).await;
        assert_eq!(slice(&mut session, order(0, 20, 1)).await.errors.total(), 0);
        left.set(100);
        let report = slice(&mut session, order(0, 200, 2)).await;
        // Each connection has lost a request.
        assert_eq!((report.replies, report.failed, report.errors.closed), (100, 4, 4), "{report:?}");
        for seed in 3..6 {
            let begun = at.elapsed();
            let report = slice(&mut session, order(0, 50, seed)).await;
            assert_eq!((report.replies, report.errors.total()), (0, report.errors.connect));
            // Each tries again every 20 ms and a little, also from one slice into the next.
            assert!([8, 12].contains(&report.errors.connect), "{:?}", report.errors);
            assert!(at.elapsed() - begun < 52 * MS, "{:?}", at.elapsed() - begun);
        }
    });
}

#[test]
fn requests_without_a_reply_time_out_in_every_slice() {
    for address in addresses() {
        for rate in [None, Some(200.0)] {
            beside(&exact(1), crate::targets::never_answers(), async {
                let mut session = open(&Options { rate, timeout: 100 * MS, ..two(address.clone()) }).await;
                for seed in 0..3 {
                    let report = slice(&mut session, order(0, 50, seed)).await;
                    assert_eq!((report.replies, report.completed), (0, 0));
                    assert_eq!((report.failed, report.errors.timeout, report.errors.total()), (2, 2, 2));
                    assert_eq!(report.unanswered, if rate.is_some() { 10 } else { 2 }, "{report:?}");
                    // Timeouts are looked for every 6.25 ms.
                    assert!((100 * MS..112 * MS).contains(&report.busy), "{:?}", report.busy);
                }
            });
        }
    }
}

#[test]
fn a_session_that_cannot_be_opened_says_why() {
    let [tcp, _] = addresses();
    let fails = |options: Options, target, stop| {
        let opening = async { Session::open_in_world(&options, &AtomicBool::new(stop)).await.err().unwrap() };
        beside(&exact(1), target, opening)
    };
    assert!(matches!(fails(two(tcp.clone()), pending(), false), LoadError::Refused(_)));
    let none = Options { connections: 0, ..two(tcp.clone()) };
    assert!(matches!(fails(none, pending(), false), LoadError::Options(_)));
}

#[test]
fn a_session_that_is_not_wanted_any_more_is_not_opened() {
    let [tcp, _] = addresses();
    beside(&exact(1), crate::targets::never_answers(), async {
        // Opens one connection in a minute.
        let load = Options { connect_rate: Some(1.0 / 60.0), timeout: Duration::from_secs(120), ..two(tcp) };
        let error = Session::open_in_world(&load, &AtomicBool::new(true)).await.err().unwrap();
        assert!(matches!(error, LoadError::Interrupted));
    });
}
