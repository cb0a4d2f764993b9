//! Responses as hyper's client reads them, beside ours: the same status and body, or refused by both, or a reason why not.

use std::time::Duration;

use brunt_wire::http1::Limits;
use http_body_util::{BodyExt, Empty};
use hyper::{Request, body::Bytes, client::conn::http1};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::common::{Seen, read};

/// Whether hyper agrees, or why it does not.
enum Hyper {
    Agrees,
    Differs(&'static str),
}
use Hyper::{Agrees, Differs};

const BARE_LF: Hyper =
    Differs("RFC 9112, 2.2, lets a bare LF pass for a line end; ours is the same in both directions");

const ANSWERS: &[(&str, &str, Hyper)] = &[
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
        Differs("RFC 9112, 2.2, forgives empty lines to clients alone"),
    ),
    (
        "GET",
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nhi",
        Differs("RFC 9112, 6.3, rule 5, lets equal lengths pass; a server under test should be told"),
    ),
    (
        "GET",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
        Differs("RFC 9112, 6.3, rule 3: it ought to be handled as an error"),
    ),
    (
        "GET",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nhi",
        Differs("RFC 9112, 6.1: the body is in a coding that nobody here understands; hyper hands it on undecoded"),
    ),
];

/// Status and body, if all of it was right.
fn ours(method: &str, bytes: &str) -> Option<(u16, Vec<u8>)> {
    let mut answer = None;
    for event in read(&[method], &[bytes.as_bytes()], &Limits::CLIENT, false, true) {
        match event {
            Seen::Response { status, .. } => answer = Some((status, Vec::new())),
            Seen::Body(data) => answer.as_mut()?.1 = data,
            Seen::Error(_) => return None,
            _ => {}
        }
    }
    answer
}

async fn theirs(method: &str, bytes: &str) -> Option<(u16, Vec<u8>)> {
    let (client, mut server) = tokio::io::duplex(1 << 16);
    let (mut sender, connection) = http1::handshake(TokioIo::new(client)).await.unwrap();
    let request = Request::builder().method(method).uri("/").header("host", "a").body(Empty::<Bytes>::new()).unwrap();
    let answer = async {
        let response = sender.send_request(request).await.ok()?;
        let status = response.status().as_u16();
        let body = response.into_body().collect().await.ok()?;
        Some((status, body.to_bytes().to_vec()))
    };
    let serve = async {
        let mut asked = [0; 1024];
        let _ = server.read(&mut asked).await;
        let _ = server.write_all(bytes.as_bytes()).await;
        drop(server);
    };
    let all = async { tokio::join!(answer, serve, connection).0 };
    tokio::time::timeout(Duration::from_secs(120), all).await.expect("hyper comes to an end")
}

#[test]
fn hyper_reads_the_same_answers_but_for_the_known_differences() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    for (method, bytes, hyper) in ANSWERS {
        let (ours, theirs) = (ours(method, bytes), runtime.block_on(theirs(method, bytes)));
        match hyper {
            Agrees => assert_eq!(ours, theirs, "{method} answered with {bytes:?}"),
            Differs(why) => assert_ne!(ours, theirs, "{method} answered with {bytes:?}: no difference, though {why}"),
        }
    }
}
