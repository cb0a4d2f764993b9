//! What a script's answer costs beside a native one: nanoseconds a call, the best of several rounds. No socket is involved.
//! A word behind it leaves only the rows that contain the word.
//! `cargo run --release -p brunt-serve --example script_cost`

use brunt_serve::http::handler::{Content, Handler, Request, Response};
use brunt_serve::http::script::{LIMITS, Script};
use brunt_wire::http1::Limits;
use brunt_wire::http1::server::{Connection, Event};
use std::{hint::black_box, rc::Rc, time::Duration, time::Instant};

const CALLS: u32 = 100_000;
const ROUNDS: u32 = 7;

/// What wrk sends, and what a browser might.
const PLAIN: &str = "GET /path?a=1&b=2 HTTP/1.1\r\nHost: localhost:8080\r\n\r\n";
const BROWSER: &str = "GET /path?a=1&b=2 HTTP/1.1\r\nHost: localhost:8080\r\nConnection: keep-alive\r\n\
    User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36\r\n\
    Accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8\r\n\
    Accept-Encoding: gzip, deflate, br, zstd\r\nAccept-Language: en-GB,en;q=0.9\r\nCookie: session=0123456789abcdef\r\n\
    Upgrade-Insecure-Requests: 1\r\nSec-Fetch-Dest: document\r\nSec-Fetch-Mode: navigate\r\n\r\n";

const SCRIPTS: &[(&str, &str)] = &[
    ("a constant", "function on_request() return 'Hi, there!\\n' end"),
    ("a constant, with the request", "function on_request(req) return 'Hi, there!\\n' end"),
    ("a status, headers, a constant", "local h = {['X-A'] = 'b'} function on_request() return 200, h, 'Hi' end"),
    ("the path", "function on_request(req) return req.path end"),
    ("whoami", "function on_request(req) return `You are requesting {req.path} from {req.ip}\\n` end"),
    ("a header", "function on_request(req) return req.headers.host end"),
    ("an argument", "function on_request(req) return req.args.b end"),
    ("a table", "function on_request() return {status = 200, body = 'Hi', delay = 0} end"),
    ("JSON", "function on_request(req) return json.encode({path = req.path, list = {1, 2, 3}}) end"),
    ("a loop of 1000", "function on_request() local n = 0 for i = 1, 1000 do n += i end return `{n}` end"),
];

fn main() {
    let only = std::env::args().nth(1).unwrap_or_default();
    let body: Rc<[u8]> = Rc::from(&b"Hi, there!\n"[..]);
    let mut native = move |_: &Request<'_>| Response {
        status: 200,
        fields: vec![("Content-Type".to_owned(), b"text/plain; charset=utf-8".to_vec())],
        body: Content::Whole(Rc::clone(&body)),
        delay: Duration::ZERO,
        fault: None,
    };
    println!("{:32} {:>8} {:>8}  ns a call", "", "wrk", "browser");
    row("native", &mut native);
    for (name, text) in SCRIPTS.iter().filter(|(name, _)| name.contains(&only)) {
        let script = Script::compile("cost.luau", *text, LIMITS, |line| panic!("{line}")).expect("a good script");
        let mut instance = script.instance(0).expect("a good script");
        row(name, &mut instance);
        assert_eq!(script.errors(), 0);
    }
}

fn row(name: &str, handler: &mut impl Handler) {
    println!("{name:32} {:8.0} {:8.0}", cost(PLAIN, handler), cost(BROWSER, handler));
}

fn cost(text: &str, handler: &mut impl Handler) -> f64 {
    let (mut connection, mut input) = (Connection::default(), text.as_bytes());
    let limits = Limits::default();
    let Some(Event::Head(head)) = connection.next(&mut input, &limits) else { panic!("a good request") };
    let request = Request {
        method: "GET",
        path: "/path",
        query: "a=1&b=2",
        minor_version: 1,
        fields: head.fields,
        body: b"",
        peer: ([10, 0, 0, 1], 4321).into(),
        local: ([127, 0, 0, 1], 8080).into(),
    };
    let round = |handler: &mut dyn Handler| {
        let start = Instant::now();
        for _ in 0..CALLS {
            black_box(handler.respond(black_box(&request)));
        }
        start.elapsed().as_secs_f64() * 1e9 / f64::from(CALLS)
    };
    (0..ROUNDS).map(|_| round(handler)).fold(f64::INFINITY, f64::min)
}
