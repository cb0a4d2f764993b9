//! Compares how hyper's client and this one read responses: same status and body, both an error, or a known difference.

use std::time::Duration;

use brunt_wire::http1::Limits;
use http_body_util::{BodyExt, Empty};
use hyper::{Request, body::Bytes, client::conn::http1};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::common::{OwnedEvent, read};

/// Whether hyper agrees, or why it differs.
enum Hyper {
    Agrees,
    Differs(&'static str),
}
use Hyper::{Agrees, Differs};

const BARE_LF: Hyper = Differs("RFC 9112, 2.2, permits a bare LF as line end; rejected here in both directions");

const RESPONSES: &[(&str, &str, Hyper)] = &[
    ("GET", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", Agrees),
    ("GET", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel", Agrees),
    ("GET", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", Agrees),
    ("GET", "HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nhi", Agrees),
    ("GET", "HTTP/1.1 200 \r\nContent-Length: 2\r\n\r\nhi", Agrees),
    ("GET", "HTTP/1.1 200 OK\r\n\r\nuntil the end", Agrees),
    ("GET", "HTTP/1.0 200 OK\r\n\r\nuntil the end", Agrees),
    ("GET", "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nhi", Agrees),
    ("HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", Agrees),
    ("HEAD", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", Agrees),
    ("GET", "HTTP/1.1 204 No Content\r\n\r\n", Agrees),
    ("GET", "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", Agrees),
    ("GET", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", Agrees),
    ("GET", "HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\nHTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\nno", Agrees),
    ("GET", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n", Agrees),
    ("GET", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;a=\"b\"\r\nhello\r\n0\r\nX: y\r\n\r\n", Agrees),
    ("GET", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", Agrees),
    ("GET", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhelloX\r\n0\r\n\r\n", Agrees),
    ("GET", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0x5\r\nhello\r\n0\r\n\r\n", Agrees),
    ("GET", "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", Agrees),
    ("GET", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!", Agrees),
    ("GET", "HTTP/1.1 200 OK\r\nX : y\r\nContent-Length: 2\r\n\r\nhi", Agrees),
    ("GET", "HTTP/1.1 200 OK\r\nX: y\r\n z\r\nContent-Length: 2\r\n\r\nhi", Agrees),
    ("GET", "HTTP/1.1 200 OK\r\nX: \0\r\nContent-Length: 2\r\n\r\nhi", Agrees),
    ("GET", "HTTP/1.1 20 OK\r\nContent-Length: 2\r\n\r\nhi", Agrees),
    ("GET", "HTTP/1.1 099 Low\r\nContent-Length: 2\r\n\r\nhi", Agrees),
    ("GET", "HTTP/2.0 200 OK\r\nContent-Length: 2\r\n\r\nhi", Agrees),
    ("GET", "", Agrees),
    ("GET", "HTTP/1.1 200 OK\nContent-Length: 2\n\nhi", BARE_LF),
    ("GET", "HTTP/1.1 200 OK\r\nContent-Length: 2\n\r\nhi", BARE_LF),
    (
        "GET",
        "\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi",
        Differs("RFC 9112, 2.2, permits empty lines before requests only"),
    ),
    (
        "GET",
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nhi",
        Differs("RFC 9112, 6.3, rule 5, permits equal lengths; reported here as an error of the server under test"),
    ),
    (
        "GET",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
        Differs("RFC 9112, 6.3, rule 3: it ought to be handled as an error"),
    ),
    (
        "GET",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nhi",
        Differs("RFC 9112, 6.1: the transfer coding is unknown; hyper returns the body undecoded"),
    ),
];

/// Status and body of a valid response.
fn ours(method: &str, bytes: &str) -> Option<(u16, Vec<u8>)> {
    let mut response = None;
    for event in read(&[method], &[bytes.as_bytes()], &Limits::CLIENT, false, true) {
        match event {
            OwnedEvent::Response { status, .. } => response = Some((status, Vec::new())),
            OwnedEvent::Body(data) => response.as_mut()?.1 = data,
            OwnedEvent::Error(_) => return None,
            _ => {}
        }
    }
    response
}

async fn theirs(method: &str, bytes: &str) -> Option<(u16, Vec<u8>)> {
    let (client, mut server) = tokio::io::duplex(1 << 16);
    let (mut sender, connection) = http1::handshake(TokioIo::new(client)).await.unwrap();
    let request = Request::builder().method(method).uri("/").header("host", "a").body(Empty::<Bytes>::new()).unwrap();
    let response = async {
        let response = sender.send_request(request).await.ok()?;
        let status = response.status().as_u16();
        let body = response.into_body().collect().await.ok()?;
        Some((status, body.to_bytes().to_vec()))
    };
    let serve = async {
        let mut request = [0; 1024];
        let _ = server.read(&mut request).await;
        let _ = server.write_all(bytes.as_bytes()).await;
        drop(server);
    };
    let all = async { tokio::join!(response, serve, connection).0 };
    tokio::time::timeout(Duration::from_secs(120), all).await.expect("hyper ends")
}

#[test]
fn hyper_reads_the_same_responses_except_for_known_differences() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    for (method, bytes, hyper) in RESPONSES {
        let (ours, theirs) = (ours(method, bytes), runtime.block_on(theirs(method, bytes)));
        match hyper {
            Agrees => assert_eq!(ours, theirs, "{method}, {bytes:?}"),
            Differs(why) => assert_ne!(ours, theirs, "{method}, {bytes:?}: no difference, contrary to: {why}"),
        }
    }
}
