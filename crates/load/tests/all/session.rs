//! Sessions: slices of load on connections that stay open, on targets with known behaviour.

use crate::shared::{servers::*, sessions::*, *};
use brunt_load::session::Session;
use brunt_load::{LoadError, Options};
use brunt_testkit::until;
use std::io::{Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

#[test]
fn connections_that_the_target_closes_between_slices_are_opened_again() {
    let seen = Arc::<Seen>::default();
    let counts = Arc::clone(&seen);
    let address = target(move |mut stream| {
        counts.connections.fetch_add(1, Relaxed);
        stream.set_read_timeout(Some(200 * MS)).unwrap();
        let mut message = [0; SIZE];
        while stream.read_exact(&mut message).is_ok() {
            counts.requests.fetch_add(1, Relaxed);
            if stream.write_all(&message).is_err() {
                return;
            }
        }
    });
    for rate in [None, Some(400.0)] {
        let mut session = open(&Options { rate, connections: 4, ..options(address) });
        let before = seen.requests.load(Relaxed);
        let mut replies = 0;
        for seed in 1..=4 {
            let report = slice(&mut session, order(5, 40, seed));
            replies += report.replies;
            // On a busy machine, a connection may idle for too long within a slice.
            assert!(report.errors.total() <= 2, "{:?}", report.errors);
            thread::sleep(500 * MS);
        }
        let requests = seen.requests.load(Relaxed) - before;
        assert!((replies..=replies + 4).contains(&requests), "{replies} of {requests}");
        let opened = slice(&mut session, order(0, 10, 1)).connections.opened;
        assert!((16..=32).contains(&opened), "about four for each of five slices, not {opened}");
    }
}

#[test]
fn a_target_that_dies_within_a_slice_has_reports_in_bounded_time() {
    let left = Arc::new(AtomicU64::new(u64::MAX));
    let address = mortal(&left);
    let mut session = open(&Options { connections: 4, threads: vec![None, None], ..options(address) });
    assert_eq!(slice(&mut session, order(0, 20, 1)).errors.total(), 0);
    left.store(100, Relaxed);
    let begun = Instant::now();
    let mut replies = 0;
    // One slice, unless the machine pauses.
    loop {
        let report = slice(&mut session, order(0, 200, 2));
        replies += report.replies;
        if report.failed > 0 {
            break;
        }
        assert!(begun.elapsed() < LIMIT, "{report:?}");
    }
    assert!(replies > 50, "{replies}");
    until("the listener is closed", || std::net::TcpStream::connect(address).is_err());
    for seed in 3..6 {
        let report = slice(&mut session, order(0, 50, seed));
        assert_eq!(report.replies, 0);
        assert!(report.errors.connect > 0, "{:?}", report.errors);
    }
    assert!(begun.elapsed() < LIMIT, "{:?}", begun.elapsed());
}

#[test]
fn requests_without_a_reply_time_out_in_every_slice() {
    for protocol in PROTOCOLS {
        for rate in [None, Some(200.0)] {
            let address = target_on(protocol, |_stream| thread::sleep(Duration::from_secs(3600)));
            let mut session = open(&Options { rate, timeout: 100 * MS, ..options(address) });
            for seed in 0..3 {
                let begun = Instant::now();
                let report = slice(&mut session, order(0, 50, seed));
                assert!(begun.elapsed() < LIMIT, "{:?}", begun.elapsed());
                assert_eq!((report.replies, report.completed), (0, 0));
                // One that a pause of the machine moves behind the end of a window of 50 ms is not sent.
                let least = if rate.is_some() { 1 } else { 2 };
                assert!((least..=2).contains(&report.failed), "{:?}", report.errors);
                assert_eq!(report.errors.timeout, report.failed, "{:?}", report.errors);
                assert_eq!(report.unanswered, report.offered.unwrap_or(2), "{seed} {protocol:?} {report:?}");
                assert!(report.busy >= 100 * MS, "{:?}", report.busy);
            }
        }
    }
}

#[test]
fn a_session_that_cannot_be_opened_says_why() {
    let address = listener().local_addr().unwrap();
    let open = |options: &Options, stop| Session::open(options, &AtomicBool::new(stop)).err().unwrap();
    assert!(matches!(open(&options(address), false), LoadError::Refused(_)));
    let none = Options { connections: 0, ..options(address) };
    assert!(matches!(open(&none, false), LoadError::Options(_)));
    // Opens one connection in a minute.
    let slow = Options { connect_rate: Some(1.0 / 60.0), timeout: LIMIT, ..options(echo_server()) };
    assert!(matches!(open(&slow, true), LoadError::Interrupted));
}

#[test]
fn a_slice_without_a_window_and_a_closed_loop_with_a_rate_are_errors() {
    let mut session = open(&options(echo_server()));
    assert!(session.set_rate(9.0).unwrap_err().to_string().contains("a closed loop has no rate"));
    let error = session.slice(order(10, 0, 1)).unwrap_err().to_string();
    assert!(error.contains("window of more than 0s") && !error.contains('\n'), "{error}");
    assert!(slice(&mut session, order(0, 100, 1)).replies > 0);
}
