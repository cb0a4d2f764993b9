//! Delays, pieces and bodies that are made while they are sent: each byte comes when it is due. A pause of the server is a sleep,
//! so it ends a turn after its time.

use crate::clients::Client;
use crate::worlds::{MS, SECOND, US, WAY, address, clock, options, routes, run, until};
use brunt_serve::http::handler::{Content, Factory, Piece, Request, Response, Source};
use brunt_serve::http::{Plan, Service, Settings};
use std::time::Duration;

/// The bodies of these targets, asked for one after another on one connection: pieces and their times since the request. A
/// target comes with the end of its body.
fn bodies<const N: usize>(plan: Plan, targets: [(&str, &str); N]) -> [Vec<(Duration, String)>; N] {
    let asks = async || {
        let mut client = Client::connect().await;
        // The first request of a connection is answered a turn later.
        client.get("/none", "\n").await;
        let mut bodies = [const { Vec::new() }; N];
        for (body, (target, last)) in bodies.iter_mut().zip(targets) {
            *body = client.get(target, last).await;
        }
        bodies
    };
    run(options(plan, Settings::default()), asks).0
}

/// Pieces that come so long after another, the first one after this delay.
fn spread<'t>(delay: Duration, every: Duration, pieces: impl IntoIterator<Item = &'t str>) -> Vec<(Duration, String)> {
    let delay = if delay.is_zero() { delay } else { delay + US };
    let piece = |(nth, text): (u32, &str)| (WAY + delay + nth * (every + US), text.to_owned());
    (0..).zip(pieces).map(piece).collect()
}

#[test]
fn routes_have_their_delays_and_pieces() {
    let plan = routes(
        r#"
[[route]]
path = "/delay"
text = "late"
delay = "100ms"
[[route]]
path = "/chunks"
text = "abcdef"
chunks = { pieces = 3, every = "30ms" }
[[route]]
path = "/drip"
text = "abcdef"
drip = { pieces = 6, every = "30ms" }
[[route]]
path = "/both"
text = "abcdef"
delay = "75us"
drip = { pieces = 2, every = "20us" }
[[route]]
path = "/sse"
sse = { events = 2, every = "10ms", data = "x" }
[[route]]
path = "/*"
text = "at once\n"
"#,
    );
    let targets = [("/delay", "late"), ("/chunks", "0\r\n\r\n"), ("/drip", "f"), ("/both", "f"), ("/sse", "0\r\n\r\n")];
    let [delay, chunks, drip, both, sse] = bodies(plan, targets);
    assert_eq!(delay, spread(100 * MS, Duration::ZERO, ["late"]));
    let expected = ["2\r\nab\r\n", "2\r\ncd\r\n", "2\r\nef\r\n0\r\n\r\n"];
    assert_eq!(chunks, spread(Duration::ZERO, 30 * MS, expected));
    assert_eq!(drip, spread(Duration::ZERO, 30 * MS, ["a", "b", "c", "d", "e", "f"]));
    assert_eq!(both, spread(75 * US, 20 * US, ["abc", "def"]));
    let expected = ["f\r\nid: 0\ndata: x\n\n\r\n", "f\r\nid: 1\ndata: x\n\n\r\n0\r\n\r\n"];
    assert_eq!(sse, spread(Duration::ZERO, 10 * MS, expected));
}

/// Delays that are drawn are within their bounds; `config/trigger.rs` tests how they are distributed.
#[test]
fn drawn_delays_are_within_their_bounds() {
    let plan = routes(
        r#"
[[route]]
path = "/uniform"
text = "x"
delay = { from = "50ms", to = "100ms" }
[[route]]
path = "/bimodal"
text = "x"
delay = { usual = "10ms", rare = "60ms", share = 0.5 }
[[route]]
path = "/*"
text = "at once\n"
"#,
    );
    let targets: [_; 40] = std::array::from_fn(|nth| [("/uniform", "x"), ("/bimodal", "x")][nth % 2]);
    let (mut usual, mut rare) = (0, 0);
    for (nth, body) in bodies(plan, targets).into_iter().enumerate() {
        let [(at, _)] = body[..] else { panic!("{body:?}") };
        match (nth % 2, at - WAY - US) {
            (0, delay) => assert!((50 * MS..=100 * MS).contains(&delay), "{delay:?}"),
            (_, delay) if delay == 10 * MS => usual += 1,
            (_, delay) => {
                assert_eq!(delay, 60 * MS);
                rare += 1;
            }
        }
    }
    assert!(usual > 0 && rare > 0 && usual + rare == 20, "{usual} {rare}");
}

/// Pipelined responses wait for each other and keep their order.
#[test]
fn delays_of_a_pipeline_add_up() {
    let plan = routes("[[route]]\npath = \"/late\"\ntext = \"late\"\ndelay = \"100ms\"\n");
    let asks = async || {
        let mut client = Client::connect().await;
        until(MS).await;
        client.send("GET /late HTTP/1.1\r\nHost: a\r\n\r\nGET /none HTTP/1.1\r\nHost: a\r\n\r\n".repeat(3)).await;
        let mut heard = Vec::new();
        while heard.len() < 3 {
            heard.extend(client.pieces("\n").await);
        }
        heard
    };
    for (nth, (at, text)) in (1..).zip(run(options(plan, Settings::default()), asks).0) {
        assert_eq!(at, MS + WAY + nth * (100 * MS + US));
        // What a delay holds back is sent with what comes behind it.
        let statuses: Vec<&str> = text.split("HTTP/1.1 ").skip(1).map(|response| &response[..3]).collect();
        assert_eq!(statuses, ["200", "404"], "{text}");
    }
}

#[test]
fn clients_ask_httpbin_for_delays_and_pieces() {
    let targets = [
        ("/delay/0.2", "}\n"),
        ("/drip?numbytes=5&duration=400ms&code=201", "*****"),
        ("/drip?numbytes=4&duration=300ms&delay=1.5s", "*"),
        ("/sse?count=2&duration=1s", "0\r\n\r\n"),
    ];
    let plan = Plan::service(Service::Httpbin, vec![address()]);
    let asks = async || {
        let mut client = Client::connect().await;
        client.get("/health", "\n").await;
        let mut times = Vec::new();
        for (target, pieces) in [(targets[0].0, 1), (targets[1].0, 5), (targets[2].0, 4), (targets[3].0, 2)] {
            let mut heard = Vec::new();
            let begun = clock();
            client.send(format!("GET {target} HTTP/1.1\r\nHost: a\r\n\r\n")).await;
            while heard.len() < pieces {
                heard.extend(client.pieces("").await.into_iter().map(|(at, _)| at - begun));
            }
            times.push(heard);
        }
        times
    };
    let times = run(options(plan, Settings::default()), asks).0;
    let due = |delay, every, count| spread(delay, every, vec![""; count]).into_iter().map(|(at, _)| at);
    assert_eq!(times[0], due(200 * MS, Duration::ZERO, 1).collect::<Vec<_>>());
    assert_eq!(times[1], due(Duration::ZERO, 100 * MS, 5).collect::<Vec<_>>());
    assert_eq!(times[2], due(1500 * MS, 100 * MS, 4).collect::<Vec<_>>());
    assert_eq!(times[3], due(Duration::ZERO, SECOND, 2).collect::<Vec<_>>());
}

#[test]
fn clients_override_the_delay() {
    let plan = routes("[[listener]]\nlisten = \"127.0.0.1:1\"\nservice = \"hello\"\ncontrol = true\n");
    let [asked] = bodies(plan, [("/?x-set-response-delay-ms=200", "there!\n")]);
    assert_eq!(asked, spread(200 * MS, Duration::ZERO, ["Hi, there!\n"]));
}

/// Pieces with pauses, long and short ones, and the end after a pause.
#[test]
fn a_live_body_arrives_as_it_is_made() {
    let respond = |_: &Request<'_>| {
        let mut number = 0;
        let source = Source::new(move || {
            number += 1;
            match number {
                1 | 3 | 4 | 7 => Piece::Pause(100 * MS),
                2 | 5 => Piece::Bytes(format!("piece {number}\n").as_bytes().into()),
                6 => Piece::Bytes(Vec::new().into()),
                _ => Piece::End,
            }
        });
        Response { status: 200, fields: Vec::new(), body: Content::Live(source), delay: Duration::ZERO, fault: None }
    };
    let plan = Plan::handler("live", Factory::new(move || Box::new(respond)), vec![address()]);
    let asks = async || {
        let mut client = Client::connect().await;
        until(MS).await;
        let begun = clock();
        client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n").await;
        let pieces = client.pieces("0\r\n\r\n").await;
        pieces.into_iter().map(|(at, text)| (at - begun, text)).collect::<Vec<_>>()
    };
    let pieces = run(options(plan, Settings::default()), asks).0;
    let times: Vec<_> = pieces.iter().map(|(at, _)| *at).collect();
    // The head comes at once, and each piece behind its pauses.
    assert_eq!(times, [0, 1, 3, 4].map(|pauses| WAY + pauses * (100 * MS + US)));
    let bodies: Vec<_> = pieces[1..].iter().map(|(_, text)| &**text).collect();
    assert_eq!(bodies, ["8\r\npiece 2\n\r\n", "8\r\npiece 5\n\r\n", "0\r\n\r\n"]);
}
