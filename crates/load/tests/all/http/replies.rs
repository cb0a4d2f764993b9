//! Replies over real sockets.

use crate::shared::{run, web::*};
use brunt_load::http::Expect;
use brunt_results::RunResult;
use std::collections::BTreeMap;

#[track_caller]
fn assert_good(result: &RunResult, statuses: &[(&str, u64)], body_bytes: u64) {
    assert_eq!((result.errors.total(), result.requests.failed), (0, 0), "{:?}", result.errors);
    let responses = result.responses.as_ref().unwrap();
    let counts: BTreeMap<String, u64> = statuses.iter().map(|(status, count)| (status.to_string(), *count)).collect();
    assert_eq!(responses.statuses, counts);
    assert_eq!(responses.body_bytes, Some(body_bytes));
}

#[test]
fn replies_and_body_bytes_are_counted_on_kept_connections() {
    let (address, seen) = web(|stream, _| say(stream, &ok("hello")));
    let result = run(&some(500, get(address))).result;
    assert_good(&result, &[("200", 500)], 2500);
    assert_eq!(result.requests.completed, 500);
    assert_eq!((result.connections.opened, seen.connections()), (2, 2));
    assert_eq!(result.bytes.received, 500 * ok("hello").len() as u64);
    assert_eq!(result.load.request_bytes, None);
}

#[test]
fn bodies_longer_than_any_buffer_are_counted_exactly() {
    let body = "0123456789".repeat(100_000);
    let (address, _) = web(move |stream, _| say(stream, &ok(&body)));
    let mut http = get(address);
    http.expect = Expect { length: Some(1_000_000), body: Some(b"90".to_vec()), ..Expect::default() };
    assert_good(&run(&some(6, http)).result, &[("200", 6)], 6_000_000);
}
