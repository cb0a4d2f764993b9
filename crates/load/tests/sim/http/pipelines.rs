//! Pipelines of open loops: several requests on a connection, each with times of its own.

use crate::targets::{Stream, serve};
use crate::web::*;
use crate::worlds::{LAG, LEARNING, MS, Run, US, WAY, exact, fails, histogram, run, turns, values};
use brunt_load::{Options, http::Pipeline, http::Template};
use brunt_runtime::time;
use std::future::{pending, poll_fn};
use std::iter::repeat_n;
use std::{cell::RefCell, rc::Rc, task::Poll, time::Duration};

/// A second of 400 requests on one connection, after the dispatcher has learnt.
fn paced(http: brunt_load::http::Http) -> Options {
    Options { rate: Some(400.0), connections: 1, warmup: LEARNING * 2500 * US, ..second(http) }
}

#[test]
fn a_pipeline_is_filled_and_each_request_is_answered() {
    let (Run { report, responses }, seen) =
        told_on_web(&paced(singly(4, None)), |request| match (request.number + 1) % 4 {
            0 => say(ok("hello").repeat(4)),
            _ => Answer::default(),
        });
    assert_good(&report.result, 400);
    assert_eq!(seen.connections.get(), 1);
    // The first of four waits for the last, which is due 7.5 ms later.
    let times = (0..4).flat_map(|later| repeat_n(LAG + WAY + later * 2500 * US, 100));
    assert_eq!(values(&responses), values(&histogram(times)));
}

#[test]
fn a_pipeline_has_no_more_requests_than_its_depth() {
    let options = Options { connections: 2, warmup: Duration::ZERO, ..paced(singly(4, None)) };
    let (result, seen) = on_web(&options, |_| Answer::default());
    assert_eq!(seen.requests(), 8);
    assert_eq!((result.requests.completed, result.errors.total()), (0, 0));
    assert_eq!(result.requests.unanswered, 400, "those without room are unanswered too");
}

#[test]
fn replies_to_head_are_matched_and_urls_take_turns() {
    let template = Template { method: "HEAD".to_owned(), ..template() };
    let http = asks(&template, &[goal("/a", 3), goal("/b", 1)], Pipeline::Single(8), None);
    let options = Options { warmup: Duration::ZERO, ..paced(http) };
    let (result, seen) = on_web(&options, |_| say("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"));
    assert_good(&result, 400);
    assert_eq!(seen.log.borrow().iter().filter(|request| request.target() == "/b").count(), 100);
}

/// Bytes that have arrived; `None` without any.
async fn arrived(stream: &mut Stream) -> Option<Vec<u8>> {
    poll_fn(|cx| match stream.poll_recv(cx) {
        Poll::Ready(Ok(bytes)) if !bytes.is_empty() => Poll::Ready(Some(bytes.to_vec())),
        _ => Poll::Ready(None),
    })
    .await
}

#[test]
fn requests_wait_for_capacity() {
    let answers = Rc::<RefCell<Vec<usize>>>::default();
    let log = answers.clone();
    let hoards = serve(move |mut stream: Stream| {
        let log = log.clone();
        async move {
            while let Ok(first) = stream.recv().await {
                let mut received = first.to_vec();
                // Twenty gaps.
                time::sleep(50 * MS).await;
                while let Some(bytes) = arrived(&mut stream).await {
                    received.extend(bytes);
                }
                let requests = String::from_utf8_lossy(&received).matches("\r\n\r\n").count();
                let replies = ok("hello").repeat(requests);
                if requests == 0 || stream.write_all(replies.as_bytes()).await.is_err() {
                    return;
                }
                log.borrow_mut().push(requests);
                stream.flush().await.unwrap();
            }
        }
    });
    let options = Options { warmup: Duration::ZERO, ..paced(singly(16, None)) };
    let result = run(&exact(1), &options, hoards).report.result;
    assert_eq!(result.errors.total(), 0);
    // As many as may be in flight, each time; those that are not due yet at the first time are due later.
    let answers = answers.borrow();
    assert!(answers.iter().all(|requests| *requests == 16), "{answers:?}");
    assert_eq!((answers.len(), result.requests.completed), (20, 19 * 16));
    // Twenty are due in each round and sixteen can be sent: those that were due before there was room have waited.
    let waited: u64 = (1..20).map(|round| (20 * round + 1 - 16 * round).min(16)).sum();
    // In the last round there is room for sixteen of all that are left, and four more a round never had any.
    assert_eq!(result.requests.waited, Some(waited + 20 * (20 - 16)));
}

#[test]
fn connections_are_replaced_after_their_number_of_requests_without_loss() {
    let options = Options {
        rate: Some(2000.0),
        connections: 2,
        warmup: Duration::ZERO,
        direct: turns(),
        ..paced(singly(4, Some(10)))
    };
    let (result, seen) = on_web(&options, |request| match request.head.contains("Connection: close") {
        true => say(ok("")).close(),
        false => say(ok("")),
    });
    assert_good(&result, 2000);
    assert_eq!(seen.connections.get(), 200);
    for request in &*seen.log.borrow() {
        assert_eq!(request.head.contains("Connection: close"), request.number == 9, "{request:?}");
    }
}

#[test]
fn a_lost_connection_loses_exactly_its_requests_in_flight() {
    // The target holds four requests, of which it has answered none, when it closes.
    let options = Options { warmup: Duration::ZERO, ..paced(singly(4, None)) };
    let (result, seen) = on_web(&options, |request| match request.number {
        0..5 => say(ok("")),
        5..8 => Answer::default(),
        _ => Answer::default().close(),
    });
    let (requests, connections) = (&result.requests, seen.connections.get());
    // Nine requests a connection; the last one has the rest.
    assert_eq!((connections, requests.completed), (400u64.div_ceil(9), 400 / 9 * 5 + 4));
    assert_eq!((requests.failed, result.errors.closed, result.errors.total()), (400 / 9 * 4, 400 / 9 * 4, 400 / 9 * 4));
    assert_eq!(result.connections.closed_after, Some(5));
}

#[test]
fn a_reply_without_a_request_is_an_error_in_a_pipeline() {
    let options = Options { warmup: Duration::ZERO, ..paced(singly(4, None)) };
    let (result, seen) = on_web(&options, |request| say(ok("").repeat(if request.number == 3 { 2 } else { 1 })));
    // The fourth request of each connection is answered twice.
    assert_eq!((result.requests.completed, result.requests.failed, seen.connections.get()), (300, 100, 100));
    assert_eq!((result.errors.protocol, result.errors.total()), (100, 100));
}

#[test]
fn requests_of_a_pipeline_queue_at_the_target() {
    // One in twenty delays those behind it.
    let service = |number: u64| if number % 20 == 19 { 40 * MS } else { MS };
    let answer = move |request: &Request| Answer::default().wait(service(request.number)).say(ok("hello"));
    let gap = 4 * MS;
    let options = Options { rate: Some(250.0), warmup: LEARNING * gap, ..paced(singly(256, None)) };
    let (Run { report, responses }, _) = told_on_web(&options, answer);
    // Each begins when it arrives, or a turn after the one before it is sent, which is as its sleep ends: its task runs alone.
    let (mut free, mut expected) = (Duration::ZERO, Vec::new());
    for number in 0..LEARNING + 250 {
        let due = number * gap;
        free = (free + US).max(due + LAG + WAY / 2) + service(u64::from(number));
        let reply = free + WAY / 2;
        if number >= LEARNING && reply < (LEARNING + 250) * gap {
            expected.push(reply - due);
        }
    }
    let requests = &report.result.requests;
    // The last one of the warm-up has its reply in the window.
    assert_eq!((requests.completed, requests.failed), (expected.len() as u64 + 1, 0));
    assert_eq!(requests.completed + requests.unanswered, 251);
    assert!(expected.iter().any(|time| *time > 30 * MS));
    // A queue begins with a request that is sent within one of the dispatcher's turns, of 1 us; cells of a histogram are a part in
    // a thousand wide.
    let each = |times: Vec<(Duration, u64)>| times.into_iter().flat_map(|(time, count)| repeat_n(time, count as usize));
    for (seen, expected) in each(values(&responses)).zip(each(values(&histogram(expected)))) {
        assert!(seen.abs_diff(expected) <= US + expected / 1000, "{seen:?} instead of {expected:?}");
    }
}

#[test]
fn kinds_of_pipelines_need_their_kind_of_loop() {
    let batches = Options { rate: Some(100.0), ..second(gets(2, None)) };
    for (options, needle) in [(batches, "one write"), (second(singly(2, None)), "-R")] {
        let error = fails(&exact(1), &options, pending()).to_string();
        assert!(error.contains(needle) && !error.contains('\n'), "{error}");
    }
}
