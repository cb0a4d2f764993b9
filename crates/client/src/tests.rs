//! Exchanges with a server that says what a test tells it to.

use super::*;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::thread;

/// Guards against hanging only.
const WITHIN: Duration = Duration::from_secs(60);

/// The reply of a server that reads a request up to its blank line, says `text` and closes; and the request.
fn exchange(text: &'static str, call: &Call<'_>) -> (Result<Reply, Failure>, String) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let serve = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let (mut request, mut byte) = (Vec::new(), [0]);
        while !request.ends_with(b"\r\n\r\n") && stream.read(&mut byte).unwrap() == 1 {
            request.push(byte[0]);
        }
        // The client may have read enough.
        let _ = stream.write_all(text.as_bytes());
        String::from_utf8(request).unwrap()
    });
    let reply = Client::plain("127.0.0.1".to_owned(), port, "a.example".to_owned()).send(call, WITHIN);
    (reply, serve.join().unwrap())
}

const GET: Call<'_> = Call { method: "GET", target: "/m?x", fields: &[("User-Agent", b"brunt")], body: None, most: 5 };

#[test]
fn replies_of_every_framing_are_read() {
    for text in [
        "HTTP/1.1 200 Fine\r\nContent-Length: 5\r\n\r\nhello",
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 Fine\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n",
        "HTTP/1.0 200 Fine\r\n\r\nhello",
        // More than is kept.
        "HTTP/1.1 200 Fine\r\nContent-Length: 10\r\n\r\nhello worl",
    ] {
        let (reply, request) = exchange(text, &GET);
        let reply = reply.unwrap_or_else(|failure| panic!("{failure:?} of {text}"));
        assert_eq!((reply.status, &reply.reason[..], &reply.body[..]), (200, "Fine", &b"hello"[..]), "{text}");
        assert_eq!(request, "GET /m?x HTTP/1.1\r\nHost: a.example\r\nUser-Agent: brunt\r\nConnection: close\r\n\r\n");
    }
}

#[test]
fn failures_say_whether_the_request_was_sent() {
    for (text, needle) in [
        ("", "closed without a whole answer"),
        ("HTTP/1.1 200 Fine\r\nContent-Length: 5\r\n\r\nhe", "closed without a whole answer"),
        ("SSH-2.0\r\n\r\n", "no valid HTTP/1"),
    ] {
        let failure = exchange(text, &GET).0.unwrap_err();
        assert!(!failure.is_unsent && failure.why.contains(needle), "{text}: {failure:?}");
    }
    let client = Client::plain("127.0.0.1".to_owned(), 1, "a".to_owned());
    assert!(client.send(&GET, WITHIN).unwrap_err().is_unsent);
    assert!(client.send(&Call { target: "/ x", ..GET }, WITHIN).unwrap_err().is_unsent);
}
