//! What a request costs in instructions: answers, or sends and reads, one exchange N times and does nothing else.
//!
//! Run it under a counter with two different N; the difference, divided, is the cost of one exchange:
//! `valgrind --tool=callgrind --callgrind-out-file=/dev/null target/release/examples/http1_cost ready wrk 20000`.

use brunt_wire::http1::{
    DateHeader, Limits, Response, StaticResponse, client,
    server::{Connection, Event},
};

const WRK: &[u8] = b"GET / HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n\r\n";
const CURL: &[u8] = b"GET /hello HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nUser-Agent: curl/7.88.1\r\nAccept: */*\r\n\r\n";
const BROWSER: &[u8] = b"GET /index.html?q=1 HTTP/1.1\r\nHost: www.example.com\r\nUser-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0\r\nAccept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8\r\nAccept-Language: en-US,en;q=0.5\r\nAccept-Encoding: gzip, deflate, br, zstd\r\nConnection: keep-alive\r\nUpgrade-Insecure-Requests: 1\r\nSec-Fetch-Dest: document\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-Site: none\r\nPriority: u=0, i\r\n\r\n";
const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nServer: brunt\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\nContent-Type: text/plain\r\nContent-Length: 11\r\n\r\nHi, there!\n";

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (Some(what), Some(request), Some(count)) = (
        arguments.first(),
        arguments.get(1).and_then(|name| match name.as_str() {
            "wrk" => Some(WRK),
            "curl" => Some(CURL),
            "browser" => Some(BROWSER),
            _ => None,
        }),
        arguments.get(2).and_then(|count| count.parse::<usize>().ok()),
    ) else {
        eprintln!("http1_cost (parse|ready|response|client|client-events) (wrk|curl|browser) COUNT");
        std::process::exit(2);
    };
    let written = match what.as_str() {
        "parse" => serve(request, count, |_, _| {}),
        "ready" => {
            let stamp = DateHeader::new(Some("brunt"), 784_111_777).expect("a plain name");
            let ready =
                StaticResponse::new(200, &[("Content-Type", b"text/plain")], b"Hi, there!\n").expect("plain fields");
            serve(request, count, |head, out| {
                let _after = ready.write(out, head.meta(), &stamp);
            })
        }
        "response" => {
            let stamp = DateHeader::new(Some("brunt"), 784_111_777).expect("a plain name");
            serve(request, count, |head, out| {
                let response = Response::new(out, head.meta(), &stamp, 200).expect("a final status");
                let response = response.field("Content-Type", b"text/plain").expect("a plain field");
                let _after = response.body(b"Hi, there!\n");
            })
        }
        "client" => ask(count, |connection, input| {
            connection.next_whole(input, &Limits::CLIENT).map_or(0, |whole| whole.body.len())
        }),
        "client-events" => ask(count, |connection, input| {
            let mut bytes = 0;
            while let Some(event) = connection.next(input, &Limits::CLIENT) {
                if let client::Event::Body(body) = event {
                    bytes += body.len();
                }
            }
            bytes
        }),
        other => {
            eprintln!("http1_cost: {other}: unknown; one of parse, ready, response, client, client-events");
            std::process::exit(2);
        }
    };
    println!("{what}: {count} exchanges, {written} bytes");
}

fn serve(request: &'static [u8], count: usize, answer: impl Fn(&brunt_wire::http1::Head<'_>, &mut Vec<u8>)) -> usize {
    let (limits, mut connection, mut out) = (Limits::default(), Connection::default(), Vec::with_capacity(4096));
    let mut written = 0;
    for _ in 0..count {
        let mut input = std::hint::black_box(request);
        while let Some(event) = connection.next(&mut input, &limits) {
            match event {
                Event::Head(head) => answer(&head, &mut out),
                Event::Error(fault) => panic!("{fault}"),
                Event::Body(_) | Event::Trailers(_) | Event::End(_) => {}
            }
        }
        written += std::hint::black_box(&out).len();
        out.clear();
    }
    written
}

fn ask(count: usize, take: impl Fn(&mut client::Connection, &mut &'static [u8]) -> usize) -> usize {
    let (mut connection, mut out) = (client::Connection::default(), Vec::new());
    let asked = client::Request::get("127.0.0.1:8080", "/").encode(&mut out, None).expect("a plain request");
    let mut bytes = 0;
    for _ in 0..count {
        connection.sent(asked).expect("no HEAD");
        let mut input = std::hint::black_box(ANSWER);
        bytes += take(&mut connection, &mut input);
    }
    assert_eq!(bytes, count * 11, "an answer was not understood");
    bytes
}
