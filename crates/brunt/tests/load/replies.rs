//! Replies that break a rule of HTTP/1: counted by rule on the page and in the result, or
//! refused with a reason.

use crate::shared::target::{json, load};
use brunt_testkit::{assert_code, listener, text};
use std::io::{Read, Write};
use std::thread;

/// The URL of a server that answers each request, which comes whole, with these bytes.
fn answering(reply: &'static str) -> String {
    let listener = listener();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            thread::spawn(move || {
                let mut request = [0; 4096];
                while stream.read(&mut request).is_ok_and(|length| length > 0) {
                    let _ = stream.write_all(reply.as_bytes());
                }
            });
        }
    });
    url
}

const BARE: &str = "HTTP/1.1 200 OK\nContent-Length: 2\n\nhi";
const DIFFERS: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nhi!";

#[test]
fn lenient_replies_are_told_by_rule_and_bounded_and_strictly_refused() {
    let url = answering(BARE);
    let flags = "-n 12 -c 2 --warmup 0s --quiet --no-meter --allow-untrusted";
    let output = load(&url, flags).output().unwrap();
    assert_code(&output, &[0]);
    assert!(text(&output).contains("\n  lenient     12 replies with bare LF (RFC 9112 2.2)\n"), "{}", text(&output));
    let result = json(&load(&url, &format!("{flags} --json -")).output().unwrap());
    assert_eq!(result["responses"]["lenient"], 12);
    assert_eq!(result["responses"]["lenient_rules"]["bare LF (RFC 9112 2.2)"], 12);
    let bounded = load(&url, &format!("{flags} --fail-if lenient_replies>0")).output().unwrap();
    assert_code(&bounded, &[99]);
    let strict = load(&url, &format!("{flags} --strict-http")).output().unwrap();
    assert_code(&strict, &[1]);
    let refused = "\n  refused     12 replies: a line ends in a bare CR or LF (RFC 9112 2.2)\n";
    assert!(text(&strict).contains(refused), "{}", text(&strict));
}

#[test]
fn a_refused_reply_is_told_with_its_rule_its_field_and_its_first_bytes() {
    let url = answering(DIFFERS);
    let result = json(&load(&url, "-n 4 -c 1 --warmup 0s --quiet --no-meter --json -").output().unwrap());
    let rule = "Content-Length is given with different values (RFC 9110 8.6)";
    assert_eq!(result["responses"]["refused_rules"][rule], 4);
    let why = result["verdict"]["why"].to_string();
    let told = "the first protocol error: reply 1 on this connection: Content-Length 2 and 3 differ (RFC 9110 8.6), in 'HTTP/1.1";
    assert!(why.contains(told), "{why}");
    let once = load(&url, "--once").output().unwrap();
    assert!(text(&once).contains("reply 1 on this connection: Content-Length 2 and 3 differ"), "{}", text(&once));
    let once = load(&answering(BARE), "--once").output().unwrap();
    assert!(text(&once).contains("\n  lenient                bare LF (RFC 9112 2.2)\n"), "{}", text(&once));
}

#[test]
fn an_http2_frame_is_named_with_the_remedy() {
    let url = answering("\0\0\x06\x04\0\0\0\0\0\0\x03\0\0\0\x64");
    let result = json(&load(&url, "-n 4 -c 1 --warmup 0s --quiet --no-meter --json -").output().unwrap());
    assert!(result["verdict"]["why"].to_string().contains("an HTTP/2 frame, '"), "{}", result["verdict"]);
    assert!(result["verdict"]["remedy"].to_string().contains("speaks HTTP/2, as gRPC servers do"));
}

#[test]
fn limits_of_replies_have_bounds() {
    for (flags, said) in [
        ("--max-header 1B", "--max-header 1B: must be from 64B to 16MiB"),
        ("--max-fields 0", "--max-fields 0: must be from 1 to 100000"),
    ] {
        let output = load("http://127.0.0.1:1/", flags).output().unwrap();
        assert_code(&output, &[2]);
        assert!(text(&output).contains(said), "{}", text(&output));
    }
}
