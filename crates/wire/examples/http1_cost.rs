//! Instructions per exchange: serves, or sends and reads, COUNT exchanges and does nothing else.
//!
//! Run it under a counter with two counts; the difference, divided, is the cost of one exchange:
//! `valgrind --tool=callgrind --callgrind-out-file=/dev/null target/release/examples/http1_cost ready wrk 20000`.
//! `varied` takes turns among 64 requests with different paths, queries and cookies.

use brunt_wire::http1::server::{Connection, Event};
use brunt_wire::http1::{DateHeader, Head, Limits, Response, StaticResponse, client};

const WRK: &str = "GET / HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n\r\n";
const CURL: &str = "GET /hello HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nUser-Agent: curl/7.88.1\r\nAccept: */*\r\n\r\n";
const BROWSER: &str = "GET /index.html?q=1 HTTP/1.1\r\nHost: www.example.com\r\nUser-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0\r\nAccept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8\r\nAccept-Language: en-US,en;q=0.5\r\nAccept-Encoding: gzip, deflate, br, zstd\r\nConnection: keep-alive\r\nUpgrade-Insecure-Requests: 1\r\nSec-Fetch-Dest: document\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-Site: none\r\nPriority: u=0, i\r\n\r\n";
const USAGE: &str =
    "http1_cost (parse|ready|response|client|client-cached|client-events) (wrk|curl|browser|varied) COUNT";

/// Messages that take turns.
type Messages = Vec<Vec<u8>>;

fn requests(name: &str) -> Option<Messages> {
    let one = |text: &str| vec![text.as_bytes().to_vec()];
    Some(match name {
        "wrk" => one(WRK),
        "curl" => one(CURL),
        "browser" => one(BROWSER),
        "varied" => (0u32..64)
            .map(|n| {
                let id = n.wrapping_mul(0x9e37_79b9);
                format!("GET /items/{n}?page={}&q={id:x} HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nUser-Agent: test/1.0\r\nAccept: */*\r\nCookie: session={id:08x}; n={n}\r\n\r\n", n % 7)
            })
            .map(String::into_bytes)
            .collect(),
        _ => return None,
    })
}

/// A response to each request; `varied` ones differ in a field.
fn responses(requests: &Messages) -> Messages {
    let response = |n| {
        let tag = if requests.len() > 1 { format!("ETag: \"{n}\"\r\n") } else { String::new() };
        format!("HTTP/1.1 200 OK\r\nServer: brunt\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\nContent-Type: text/plain\r\n{tag}Content-Length: 11\r\n\r\nHi, there!\n").into_bytes()
    };
    (0..requests.len()).map(response).collect()
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [what, name, count] = &arguments[..] else { usage() };
    let (Some(requests), Ok(count)) = (requests(name), count.parse()) else { usage() };
    let date = DateHeader::new(Some("brunt"), 784_111_777).expect("a plain name");
    let bytes = match what.as_str() {
        "parse" => serve(&requests, count, |_, _| {}),
        "ready" => {
            let ready =
                StaticResponse::new(200, &[("Content-Type", b"text/plain")], b"Hi, there!\n").expect("plain fields");
            serve(&requests, count, |head, out| {
                let _ = ready.write(out, head.meta(), &date);
            })
        }
        "response" => serve(&requests, count, |head, out| {
            let response = Response::new(out, head.meta(), &date, 200).expect("a final status");
            let response = response.field("Content-Type", b"text/plain").expect("a plain field");
            let _ = response.body(b"Hi, there!\n");
        }),
        "client" => ask(&responses(&requests), count, |connection, input| {
            connection.next_whole(input, &Limits::CLIENT).map_or(0, |whole| whole.body.len())
        }),
        "client-cached" => {
            let mut cache = client::HeadCache::default();
            ask(&responses(&requests), count, |connection, input| {
                connection.next_cached(input, &mut cache, &Limits::CLIENT).map_or(0, |whole| whole.body.len())
            })
        }
        "client-events" => ask(&responses(&requests), count, |connection, input| {
            let mut bytes = 0;
            while let Some(event) = connection.next(input, &Limits::CLIENT) {
                if let client::Event::Body(body) = event {
                    bytes += body.len();
                }
            }
            bytes
        }),
        _ => usage(),
    };
    println!("{what}: {count} exchanges, {bytes} bytes");
}

fn usage() -> ! {
    eprintln!("{USAGE}");
    std::process::exit(2)
}

fn serve(requests: &Messages, count: usize, respond: impl Fn(&Head<'_>, &mut Vec<u8>)) -> usize {
    let (limits, mut connection, mut out) = (Limits::default(), Connection::default(), Vec::with_capacity(4096));
    let mut written = 0;
    for request in requests.iter().cycle().take(count) {
        let mut input = std::hint::black_box(&request[..]);
        while let Some(event) = connection.next(&mut input, &limits) {
            match event {
                Event::Head(head) => respond(&head, &mut out),
                Event::Error(error) => panic!("{error}"),
                Event::Body(_) | Event::Trailers(_) | Event::End(_) => {}
            }
        }
        written += std::hint::black_box(&out).len();
        out.clear();
    }
    written
}

fn ask<'m>(
    responses: &'m Messages,
    count: usize,
    mut take: impl FnMut(&mut client::Connection, &mut &'m [u8]) -> usize,
) -> usize {
    let (mut connection, mut out) = (client::Connection::default(), Vec::new());
    let sent = client::Request::get("127.0.0.1:8080", "/").encode(&mut out, None).expect("a plain request");
    let mut bytes = 0;
    for response in responses.iter().cycle().take(count) {
        connection.sent(sent).expect("no HEAD");
        let mut input = std::hint::black_box(&response[..]);
        bytes += take(&mut connection, &mut input);
    }
    assert_eq!(bytes, count * 11, "a response was not understood");
    bytes
}
