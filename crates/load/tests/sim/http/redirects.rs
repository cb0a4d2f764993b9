//! Redirects that are followed, as requests of their own.

use crate::web::*;
use crate::worlds::US;
use brunt_load::http::{Http, Pipeline, Template};
use brunt_load::{Options, Target};
use brunt_results::{Count, RunResult, judge::judge};
use brunt_spec::Direct;

fn moved(status: u16, location: &str) -> String {
    format!("HTTP/1.1 {status} Moved\r\nLocation: {location}\r\nContent-Length: 3\r\n\r\nto\n")
}

fn following(options: Options) -> Options {
    Options { direct: Direct { location: true, ..Direct::default() }, ..options }
}

/// The targets in the order of their requests on one connection.
fn targets(seen: &Seen) -> Vec<String> {
    seen.log.borrow().iter().map(|request| request.target().to_owned()).collect()
}

fn one(requests: u64, http: Http) -> Options {
    Options { connections: 1, ..some(requests, http) }
}

/// Those that were to be followed, where as many were sent after them; the last may not.
fn redirects(result: &RunResult) -> Option<u64> {
    let responses = result.responses.clone().unwrap();
    assert!(responses.redirects.is_none_or(|all| (all - 1..=all).contains(&responses.followed.unwrap())));
    responses.redirects
}

/// Each hop is a request with a time of its own, on the same connection or on the one that replaces it, whole or in pieces.
#[test]
fn where_a_redirect_leads_is_the_next_request() {
    for (reuse, in_pieces) in [(None, false), (None, true), (Some(1), false), (Some(2), true)] {
        let post = Template { method: "POST".to_owned(), body: Some(b"hi".to_vec()), ..template() };
        let http = asks(&post, &[goal("/", 1), goal("/plain", 1)], Pipeline::NONE, reuse);
        let options = following(one(12, http));
        let (result, seen) = on_web(&options, move |request| {
            let closes = request.head.contains("Connection: close");
            let reply = match request.target() {
                "/" => moved(302, "/a"),
                "/a" => moved(307, "../b?c#d"),
                _ => ok("done"),
            };
            let (first, rest) = reply.split_at(if in_pieces { 30 } else { 0 });
            let answer = if in_pieces { say(first).wait(300 * US).say(rest) } else { say(rest) };
            if closes { answer.close() } else { answer }
        });
        assert_good(&result, 12);
        assert_eq!(targets(&seen), ["/", "/a", "/b?c", "/plain"].repeat(3));
        assert_eq!((redirects(&result), result.latency.response.count), (Some(6), 12));
        assert_eq!(seen.connections.get(), reuse.map_or(1, |requests| 12 / requests));
        let methods: Vec<(bool, usize)> =
            seen.log.borrow().iter().map(|r| (r.head.starts_with("POST "), r.body.len())).collect();
        assert_eq!(methods[..4], [(true, 2), (false, 0), (false, 0), (true, 2)]);
    }
}

/// They take the places of others: no more requests are sent than are due.
#[test]
fn an_open_loop_keeps_its_rate() {
    let options = Options { rate: Some(1000.0), ..second(get()) };
    let (result, seen) = on_web(&following(options), |request| match request.target() {
        "/" => say(moved(301, "/b")),
        _ => say(ok("b")),
    });
    assert_good(&result, 1000);
    assert_eq!(seen.requests(), 1000);
    assert!((499..=501).contains(&redirects(&result).unwrap()), "{:?}", redirects(&result));
}

#[test]
fn a_redirect_to_another_host_or_in_a_circle_is_an_error_that_says_so() {
    for (location, most, good, why) in [
        ("http://other/x", None, 0, "a redirect to http://other/x, on another scheme, host or port (302)"),
        ("/", None, 10, "another redirect behind 10 in a row (--max-redirs allows more) (302)"),
        ("/", Some(1), 1, "another redirect behind 1 in a row (--max-redirs allows more) (302)"),
        ("/", Some(0), 0, "a redirect, of which none is followed (--max-redirs allows some) (302)"),
        ("http://[", None, 0, "a redirect whose Location is no URL: 'http://[' (302)"),
    ] {
        let mut options = following(one(22, get()));
        options.direct.max_redirs = most.map(Count);
        let (result, seen) = on_web(&options, move |_| say(moved(302, location)));
        let in_a_row = good + 1;
        assert_eq!((seen.requests(), result.errors.status), (22, 22 / in_a_row), "{location}");
        assert_eq!(redirects(&result).unwrap_or_default(), result.requests.completed);
        assert_eq!(result.first_wrong_reply.clone().unwrap().got, why);
        let remedy = judge(&result, None).remedy;
        assert_eq!(
            remedy.iter().any(|remedy| remedy.contains("load the URL")),
            location.contains("other"),
            "{remedy:?}"
        );
    }
}

/// A chain ends with the connection on which one of its requests is lost.
#[test]
fn a_lost_request_of_a_chain_is_not_sent_again() {
    let (result, seen) = on_web(&following(one(9, get())), |request| match request.target() {
        "/" => say(moved(302, "/lost")),
        _ => say("").reset(),
    });
    assert_eq!((result.requests.completed, result.errors.total()), (5, 4), "{:?}", result.errors);
    assert_eq!(targets(&seen), ["/", "/lost", "/", "/lost", "/", "/lost", "/", "/lost", "/"]);
}

#[test]
fn expectations_are_those_of_the_last_reply() {
    let mut options = following(one(10, get()));
    let Target::Http(http) = &mut options.target else { unreachable!() };
    http.expect.statuses = "200".parse().unwrap();
    http.expect.body = Some(b"done".to_vec());
    let answer = |request: &Request| match request.target() {
        "/" => say(moved(302, "/b")),
        _ => say(ok("done")),
    };
    let (result, _) = on_web(&options, answer);
    assert_good(&result, 10);
    options.direct.location = false;
    let (result, seen) = on_web(&options, answer);
    assert_eq!((result.errors.status, seen.requests(), redirects(&result)), (10, 10, None));
}
