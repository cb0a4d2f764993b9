//! Replies of every shape, and their checks.

use crate::web::*;
use crate::worlds::US;
use brunt_load::http::{Expect, Pipeline, Template};
use brunt_load::{Options, http::Http};
use brunt_results::RunResult;
use std::collections::BTreeMap;

#[track_caller]
fn assert_replies(result: &RunResult, statuses: &[(&str, u64)], body_bytes: u64) {
    assert_eq!((result.errors.total(), result.requests.failed), (0, 0), "{:?}", result.errors);
    let responses = result.responses.as_ref().unwrap();
    let counts: BTreeMap<String, u64> = statuses.iter().map(|(status, count)| (status.to_string(), *count)).collect();
    assert_eq!(responses.statuses, counts);
    assert_eq!(responses.body_bytes, Some(body_bytes));
}

fn expecting(expect: Expect) -> Http {
    Http { expect, ..get() }
}

#[test]
fn replies_and_body_bytes_are_counted_on_kept_connections() {
    let (result, seen) = on_web(&some(500, get()), |_| say(ok("hello")));
    assert_replies(&result, &[("200", 500)], 2500);
    assert_eq!((result.requests.completed, result.connections.opened, seen.connections.get()), (500, 2, 2));
    assert_eq!(result.bytes.received, 500 * ok("hello").len() as u64);
    assert_eq!(result.load.request_bytes, None);
}

#[test]
fn replies_can_arrive_in_any_pieces() {
    for framing in [
        "Content-Length: 5\r\n\r\nhello",
        "Transfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3;x=y\r\nllo\r\n0\r\nT: 1\r\n\r\n",
    ] {
        let text = format!("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 Fine\r\nServer: x\r\n{framing}");
        for cut in 1..text.len() {
            let (first, second) = (text[..cut].to_owned(), text[cut..].to_owned());
            let http = expecting(Expect { length: Some(5), body: Some(b"hello".to_vec()), ..Expect::default() });
            let (result, _) = on_web(&some(4, http), move |_| say(&first).wait(300 * US).say(&second));
            assert_replies(&result, &[("200", 4)], 20);
        }
    }
}

#[test]
fn bodies_longer_than_any_buffer_are_counted_exactly() {
    let body = "0123456789".repeat(100_000);
    let http = expecting(Expect { length: Some(1_000_000), body: Some(b"90".to_vec()), ..Expect::default() });
    let (result, _) = on_web(&some(6, http), move |_| say(ok(&body)));
    assert_replies(&result, &[("200", 6)], 6_000_000);
}

#[test]
fn a_body_can_end_with_its_connection() {
    for version in ["1.0", "1.1"] {
        let text = format!("HTTP/{version} 200 OK\r\n\r\nall until the end");
        let (result, seen) = on_web(&some(50, get()), move |_| say(&text).close());
        assert_replies(&result, &[("200", 50)], 50 * 17);
        assert_eq!((seen.connections.get(), result.connections.peak), (50, 2));
    }
}

#[test]
fn replies_to_head_have_no_body() {
    let template = Template { method: "HEAD".to_owned(), ..template() };
    for pipeline in [1, 4] {
        let http = asks(&template, &[goal("/", 1)], Pipeline::Batches(pipeline), None);
        let (result, seen) = on_web(&some(40, http), |_| say("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"));
        assert_replies(&result, &[("200", 40)], 0);
        assert!(seen.log.borrow().iter().all(|request| request.head.starts_with("HEAD / ")));
    }
}

#[test]
fn an_unexpected_status_is_an_error_and_a_counted_reply() {
    let one_in_four = |request: &Request| match request.number % 4 {
        3 => say("HTTP/1.1 503 No\r\nContent-Length: 2\r\n\r\nno"),
        _ => say("HTTP/1.1 204 \r\n\r\n"),
    };
    let (result, _) = on_web(&Options { connections: 1, ..some(400, get()) }, one_in_four);
    // A failed reply counts towards the limit.
    assert_eq!((result.requests.completed, result.requests.failed), (300, 100));
    assert_eq!((result.errors.status, result.errors.total()), (100, 100));
    let responses = result.responses.unwrap();
    assert_eq!(responses.statuses, [("204".to_owned(), 300), ("503".to_owned(), 100)].into());
    assert_eq!(responses.body_bytes, Some(200));
    // It is in the error distribution and not in the response times; its connection is kept.
    assert_eq!((result.latency.error.count, result.latency.response.count), (100, 300));
    assert_eq!(result.connections.opened, 1);
    let http = expecting(Expect { statuses: "2xx,503".parse().unwrap(), ..Expect::default() });
    assert_eq!(on_web(&some(40, http), one_in_four).0.errors.total(), 0);
}

#[test]
fn a_run_of_a_number_of_requests_ends_if_every_reply_is_wrong() {
    let (result, _) = on_web(&some(100, get()), |_| say("HTTP/1.1 404 Nothing\r\nContent-Length: 0\r\n\r\n"));
    assert_eq!((result.requests.completed, result.errors.status), (0, 100));
    assert!(result.load.measured_s < 0.002, "{}", result.load.measured_s);
}

#[test]
fn length_and_text_of_bodies_are_checked() {
    let check = |expect: Expect| {
        let (result, _) = on_web(&some(20, expecting(expect)), |_| say(ok("hello, world")));
        assert_eq!(result.errors.total(), result.errors.mismatch);
        assert_eq!(result.connections.opened, 2, "a connection is as good as its framing");
        let wrong = result
            .first_wrong_reply
            .map_or(String::new(), |wrong| format!("{}: {} instead of {}", wrong.kind, wrong.got, wrong.expected));
        (result.requests.completed, result.errors.mismatch, wrong)
    };
    let words = |words: &str| Expect { body: Some(words.into()), ..Expect::default() };
    let length = |length| Expect { length: Some(length), ..Expect::default() };
    assert_eq!(check(length(12)), (20, 0, String::new()));
    assert_eq!(check(words("o, w")), (20, 0, String::new()));
    let got = "mismatch: a body of 12 B, 'hello, world' instead of";
    assert_eq!(check(length(11)), (0, 20, format!("{got} a body of 11 B")));
    assert_eq!(check(words("World")), (0, 20, format!("{got} one with 'World'")));
}
