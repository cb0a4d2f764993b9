//! Sent requests: methods, fields, bodies, targets by weight, pipelines.

use crate::shared::{run, web::*};
use brunt_load::Options;
use brunt_load::http::{Expect, Http, Pipeline, Rendered, Requests, Template, Vary};
use std::collections::BTreeMap;
use std::io::Read;
use std::sync::{Arc, Mutex};

#[test]
fn a_request_is_sent_byte_for_byte() {
    let (address, seen) = web(|stream, _| say(stream, &ok("")));
    let template = Template {
        method: "PUT".to_owned(),
        fields: vec![("X-One".to_owned(), "1".to_owned()), ("Accept".to_owned(), "*/*".to_owned())],
        body: Some(b"the body".to_vec()),
        http10: false,
    };
    let result = run(&some(10, asks(address, &template, &[goal("/a?b=c", 1)], 1, None))).result;
    assert_eq!(result.errors.total(), 0);
    for request in seen.log.lock().unwrap().iter() {
        let head = "PUT /a?b=c HTTP/1.1\r\nHost: h\r\nX-One: 1\r\nAccept: */*\r\nContent-Length: 8";
        assert_eq!((&request.head[..], &request.body[..]), (head, &b"the body"[..]));
    }
}

#[test]
fn http_1_0_requests_keep_alive() {
    let keeping = "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nhi";
    let (address, seen) = web(move |stream, _| say(stream, keeping));
    let result =
        run(&some(100, asks(address, &Template { http10: true, ..template() }, &[goal("/", 1)], 1, None))).result;
    assert_eq!((result.errors.total(), seen.connections()), (0, 2));
    let log = seen.log.lock().unwrap();
    assert!(log.iter().all(|request| request.head == "GET / HTTP/1.0\r\nHost: h\r\nConnection: keep-alive"), "{log:?}");
}

#[test]
fn targets_are_requested_by_weight() {
    for pipeline in [1, 4] {
        let (address, seen) = web(|stream, _| say(stream, &ok("")));
        let targets = [goal("/a", 6), goal("/b", 3), goal("/c", 1)];
        let result = run(&some(400, asks(address, &template(), &targets, pipeline, None))).result;
        assert_eq!((result.requests.completed, result.errors.total()), (400, 0));
        let count = |target: &str| seen.log.lock().unwrap().iter().filter(|seen| seen.target() == target).count();
        for (target, share) in [("/a", 240), ("/b", 120), ("/c", 40)] {
            assert!(count(target).abs_diff(share) <= 8, "{target}: {}", count(target));
        }
    }
}

#[test]
fn a_batch_is_one_write_and_each_reply_is_counted() {
    let reads = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&reads);
    let address = crate::shared::target(move |mut stream| {
        let mut buffer = [0; 4096];
        while let Ok(length @ 1..) = stream.read(&mut buffer) {
            let requests = String::from_utf8_lossy(&buffer[..length]).matches("\r\n\r\n").count();
            log.lock().unwrap().push(requests);
            if !say(&mut stream, &ok("hello").repeat(requests)) {
                return;
            }
        }
    });
    let result = run(&some(1600, asks(address, &template(), &[goal("/", 1)], 16, None))).result;
    assert_eq!((result.requests.completed, result.errors.total()), (1600, 0), "{:?}", result.errors);
    assert_eq!(result.responses.unwrap().statuses, [("200".to_owned(), 1600)].into());
    assert_eq!(result.latency.service.count, 1600);
    let reads = reads.lock().unwrap();
    assert!(reads.iter().all(|requests| *requests == 16), "{reads:?}");
    assert!((100..=102).contains(&reads.len()));
}

#[test]
fn a_limit_within_a_pipeline_is_exact() {
    let (address, _) = web(|stream, _| say(stream, &ok("")));
    let result = run(&some(101, asks(address, &template(), &[goal("/", 1)], 16, None))).result;
    assert_eq!(result.requests.completed, 101);
    assert_eq!(result.responses.unwrap().statuses, [("200".to_owned(), 101)].into());
}

#[test]
fn large_bodies_are_sent_while_the_server_answers() {
    let (address, seen) = web(|stream, request| say(stream, &ok(&request.body.len().to_string())));
    let template = Template { method: "POST".to_owned(), body: Some(vec![b'x'; 3 << 20]), ..template() };
    let mut http = asks(address, &template, &[goal("/", 1)], 1, None);
    http.expect.body = Some(b"3145728".to_vec());
    let result = run(&some(6, http)).result;
    assert_eq!((result.requests.completed, result.errors.total()), (6, 0), "{:?}", result.errors);
    assert!(result.bytes.sent >= 6 * (3 << 20));
    assert_eq!(seen.connections(), 2);
}

#[test]
fn variants_take_turns_in_every_loop() {
    let vary = Some(Vary { variants: 50, seed: 3 });
    for (pipeline, rate) in [(Pipeline::NONE, None), (Pipeline::Batches(4), None), (Pipeline::Single(4), Some(2000.0))]
    {
        let (address, seen) = web(|stream, _| say(stream, &ok("hello")));
        let rendered = Rendered::render(&template(), &[goal("/{vary}/a?b=c", 1)], vary, pipeline, None).unwrap();
        let expect = Expect { length: Some(5), ..Expect::default() };
        let http = Http::on(address, Requests::Rendered(Arc::new(rendered)), None, expect);
        let result = run(&Options { rate, threads: vec![None, None], ..some(400, http) }).result;
        assert_eq!((result.requests.completed, result.errors.total()), (400, 0), "{pipeline:?}");
        assert_eq!((result.load.vary, result.load.protocol.as_deref()), (Some(50), Some("http")));
        let mut counts = BTreeMap::new();
        for request in seen.log.lock().unwrap().iter() {
            let token = &request.target()[1..17];
            let head = format!("GET /{token}/a?b=c&vary={token} HTTP/1.1\r\nHost: h\r\nCookie: vary={token}");
            assert_eq!(request.head, head);
            *counts.entry(token.to_owned()).or_insert(0) += 1;
        }
        // Two threads begin at different places.
        let (least, most) = (counts.values().min().unwrap(), counts.values().max().unwrap());
        assert!(counts.len() == 50 && most - least <= 8, "{pipeline:?}: {counts:?}");
    }
}
