//! Replies that break a rule of HTTP/1: read leniently and counted by rule, or refused with the rule and the field.

use crate::web::*;
use crate::worlds::US;
use brunt_load::Options;
use brunt_results::{Count, RunResult, Size};
use brunt_spec::Direct;

const CHUNKED: &str = "Transfer-Encoding: chunked\r\n";
const TWO: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n";

fn rules(result: &RunResult) -> Vec<(String, u64)> {
    result.responses.clone().unwrap().lenient_rules.unwrap().into_iter().collect()
}

fn refused(result: &RunResult) -> Vec<(String, u64)> {
    result.responses.clone().unwrap().refused_rules.unwrap().into_iter().collect()
}

fn got(result: &RunResult) -> String {
    result.first_wrong_reply.clone().unwrap().got
}

fn rule(name: &str, count: u64) -> Vec<(String, u64)> {
    vec![(name.to_owned(), count)]
}

fn strict() -> Options {
    Options { direct: Direct { strict_http: true, ..Direct::default() }, ..some(20, get()) }
}

/// Whole or in two pieces at any place, each of 20 replies is read by this rule alone; strictly, none is.
#[test]
fn lenient_replies_are_counted_by_rule_in_any_pieces() {
    for (text, name) in [
        ("HTTP/1.1 200 OK\nContent-Length: 2\n\nhi", "bare LF (RFC 9112 2.2)"),
        ("\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", "blank lines before the status line (RFC 9112 2.2)"),
        ("HTTP/1.1 200 OK\r\nA: b\r\n c\r\nContent-Length: 2\r\n\r\nhi", "folded field lines (RFC 9112 5.2)"),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 2, 2\r\n\r\nhi",
            "Content-Length repeated with the same value (RFC 9110 8.6)",
        ),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
            "a transfer coding other than chunked (RFC 9112 6.3)",
        ),
    ] {
        for cut in 0..text.len() {
            let (first, second) = text.split_at(cut);
            let answer = move |_: &Request| match first {
                "" => say(second),
                _ => say(first).wait(300 * US).say(second),
            };
            let (result, seen) = on_web(&some(20, get()), answer);
            assert_good(&result, 20);
            assert_eq!(rules(&result), rule(name, 20), "{cut}");
            let responses = result.responses.as_ref().unwrap();
            assert_eq!((responses.lenient, responses.body_bytes, seen.connections.get()), (Some(20), Some(40), 2));
            assert!(refused(&result).is_empty());
        }
        let (result, _) = on_web(&strict(), move |_| say(text));
        assert_eq!((result.requests.completed, result.errors.protocol), (0, 20), "{text}");
        assert_eq!(refused(&result).iter().map(|(_, count)| count).sum::<u64>(), 20);
        assert!(
            rules(&result).is_empty() && got(&result).starts_with("reply 1 on this connection: "),
            "{}",
            got(&result)
        );
    }
}

#[test]
fn plain_replies_are_counted_by_no_rule() {
    for options in [some(20, get()), strict()] {
        let (result, _) = on_web(&options, |_| say(ok("hi")));
        assert_good(&result, 20);
        let responses = result.responses.as_ref().unwrap();
        assert_eq!((responses.lenient, rules(&result), refused(&result)), (Some(0), vec![], vec![]));
    }
}

/// RFC 9112, 6.3: the client closes, without waiting for a target that does not.
#[test]
fn a_length_beside_a_coding_closes_the_connection_at_once() {
    let text = format!("{TWO}{CHUNKED}\r\n5\r\nhello\r\n0\r\n\r\n");
    let (result, seen) = on_web(&some(20, get()), move |_| say(&text));
    assert_good(&result, 20);
    assert_eq!(rules(&result), rule("Content-Length beside Transfer-Encoding (RFC 9112 6.3)", 20));
    assert_eq!((seen.connections.get(), result.responses.unwrap().body_bytes), (20, Some(100)));
    assert!(result.load.measured_s < 0.01, "{}", result.load.measured_s);
}

/// In the same bytes as the reply, or later while the connection is idle.
#[test]
fn blank_lines_behind_a_reply_are_skipped() {
    let name = "blank lines before the status line (RFC 9112 2.2)";
    let (result, seen) = on_web(&some(20, get()), |_| say(format!("{}\r\n", ok("hi"))));
    assert_good(&result, 20);
    assert_eq!((rules(&result), seen.connections.get()), (rule(name, 20), 2));
    let idle = Options { rate: Some(1000.0), connections: 1, ..some(20, get()) };
    let (result, seen) = on_web(&idle, |_| say(ok("hi")).wait(300 * US).say("\r\n"));
    assert_good(&result, 20);
    assert_eq!(seen.connections.get(), 1);
    assert!(rules(&result)[0].1 >= 19, "{:?}", rules(&result));
    let closing = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nhi";
    assert_eq!(rules(&on_web(&some(20, get()), move |_| say(format!("{closing}\r\n"))).0), rule(name, 20));
    assert_eq!(on_web(&some(20, get()), move |_| say(format!("{closing}\r\n!"))).0.errors.protocol, 20);
    let (result, _) = on_web(&strict(), |_| say(format!("{}\r\n", ok("hi"))));
    assert_eq!(refused(&result), rule("bytes without a request that they respond to (RFC 9112 9.2)", 20));
}

#[test]
fn refusals_name_the_reply_the_rule_the_field_and_the_first_bytes() {
    let third = |bad: &'static str| {
        let options = Options { connections: 1, ..some(3, get()) };
        let (result, _) =
            on_web(&options, move |request| if request.number % 3 == 2 { say(bad) } else { say(ok("hi")) });
        assert_eq!((result.requests.completed, result.errors.protocol), (2, 1), "{bad}");
        assert_eq!(refused(&result).len(), 1);
        got(&result)
    };
    assert_eq!(
        third("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nhi!"),
        "reply 3 on this connection: Content-Length 2 and 3 differ (RFC 9110 8.6), \
         in 'HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\nContent-Length: 3\\r\\n\\r\\nhi!'"
    );
    for (bad, why) in [
        ("HTTP/1.1 200 OK\r\nX Y: a\r\n\r\n", "(RFC 9112 5.1 and 5.2): 'X Y: a', in 'HTTP/1.1 200 OK"),
        ("HTTP/1.1 200 OK\r\nX: \0\r\n\r\n", "(RFC 9110 5.5): 'X: \\x00', in 'HTTP/1.1 200 OK"),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n",
            "a chunk size is not a hexadecimal number of 1 to 16 digits (RFC 9112 7.1), in 'ffff",
        ),
        ("SSH-2.0-OpenSSH_9.2\r\n", "the status line is malformed (RFC 9112 4), in 'SSH-2.0-OpenSSH_9.2\\r\\n'"),
        ("HTTP/1.1 101 Switching Protocols\r\n\r\n", "status 101, for which no request asked (RFC 9110 15.2.2)"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi!", "(RFC 9112 9.2), in '!'"),
    ] {
        let got = third(bad);
        assert!(got.starts_with("reply 3 on this connection: ") && got.contains(why), "{got}");
    }
    assert!(third("\x15\x03\x03\0\x02\x02\x46").starts_with("a TLS record, '"));
    assert!(third("\0\0\x06\x04\0\0\0\0\0\0\x03\0\0\0\x64").starts_with("an HTTP/2 frame, '"));
}

#[test]
fn limits_are_those_of_the_flags_and_errors_name_them() {
    let fields =
        |count: usize| format!("HTTP/1.1 200 OK\r\n{}Content-Length: 2\r\n\r\nhi", "A: b\r\n".repeat(count - 1));
    let long = |length: usize| format!("HTTP/1.1 200 OK\r\nA: {}\r\nContent-Length: 2\r\n\r\nhi", "b".repeat(length));
    let ask = |direct: Direct, text: String| {
        let (result, _) = on_web(&Options { direct, ..some(4, get()) }, move |_| say(&text));
        result.first_wrong_reply.map_or("read".to_owned(), |wrong| wrong.got)
    };
    for strict_http in [false, true] {
        let default = Direct { strict_http, ..Direct::default() };
        assert_eq!(ask(default.clone(), fields(1000)), "read");
        assert!(ask(default.clone(), fields(1001)).contains("more than 1000 (--max-fields allows more), in 'HTTP/1.1"));
        assert_eq!(ask(Direct { max_fields: Some(Count(2000)), ..default.clone() }, fields(1001)), "read");
        assert_eq!(ask(default.clone(), long(255 << 10)), "read");
        assert!(ask(default.clone(), long(256 << 10)).contains("more than 262144 B (--max-header allows more)"));
        assert_eq!(ask(Direct { max_header: Some(Size(1 << 20)), ..default.clone() }, long(256 << 10)), "read");
        assert!(ask(Direct { max_header: Some(Size(64)), ..default }, long(100)).contains("more than 64 B"));
    }
}
