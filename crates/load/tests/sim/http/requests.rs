//! Sent requests: methods, fields, bodies, targets by weight, pipelines.

use crate::targets::{Stream, serve};
use crate::web::*;
use crate::worlds::{WAY, address, exact, run, times};
use brunt_load::Options;
use brunt_load::http::{Expect, Http, Pipeline, Rendered, Requests, Template, Vary};
use brunt_results::LatencySummary;
use std::{cell::RefCell, collections::BTreeMap, rc::Rc, sync::Arc};

#[test]
fn a_request_is_sent_byte_for_byte() {
    let template = Template {
        method: "PUT".to_owned(),
        fields: vec![("X-One".to_owned(), "1".to_owned()), ("Accept".to_owned(), "*/*".to_owned())],
        body: Some(b"the body".to_vec()),
        http10: false,
    };
    let http = asks(&template, &[goal("/a?b=c", 1)], Pipeline::NONE, None);
    let (result, seen) = on_web(&some(10, http), |_| say(ok("")));
    assert_good(&result, 10);
    for request in &*seen.log.borrow() {
        let head = "PUT /a?b=c HTTP/1.1\r\nHost: h\r\nX-One: 1\r\nAccept: */*\r\nContent-Length: 8";
        assert_eq!((&request.head[..], &request.body[..]), (head, &b"the body"[..]));
    }
}

#[test]
fn http_1_0_requests_keep_alive() {
    let http = asks(&Template { http10: true, ..template() }, &[goal("/", 1)], Pipeline::NONE, None);
    let keeping = "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nhi";
    let (result, seen) = on_web(&some(100, http), move |_| say(keeping));
    assert_good(&result, 100);
    assert_eq!(seen.connections.get(), 2);
    let log = seen.log.borrow();
    assert!(log.iter().all(|request| request.head == "GET / HTTP/1.0\r\nHost: h\r\nConnection: keep-alive"), "{log:?}");
}

#[test]
fn targets_are_requested_by_weight() {
    let targets = [goal("/a", 6), goal("/b", 3), goal("/c", 1)];
    for pipeline in [1, 4] {
        let http = asks(&template(), &targets, Pipeline::Batches(pipeline), None);
        let (result, seen) = on_web(&some(400, http), |_| say(ok("")));
        assert_good(&result, 400);
        let log = seen.log.borrow();
        // What was sent behind the last reply is seen too.
        let count = |target: &str| log.iter().take(400).filter(|seen| seen.target() == target).count();
        assert_eq!(["/a", "/b", "/c"].map(count), [240, 120, 40]);
    }
}

#[test]
fn a_batch_is_one_write_and_each_reply_is_counted() {
    let reads = Rc::<RefCell<Vec<usize>>>::default();
    let log = reads.clone();
    let echoes = serve(move |mut stream: Stream| {
        let log = log.clone();
        async move {
            while let Ok(bytes) = stream.recv().await {
                let requests = String::from_utf8_lossy(&bytes).matches("\r\n\r\n").count();
                log.borrow_mut().extend((requests > 0).then_some(requests));
                let replies = ok("hello").repeat(requests);
                if requests == 0 || stream.write_all(replies.as_bytes()).await.is_err() {
                    return;
                }
                stream.flush().await.unwrap();
            }
        }
    });
    let result = run(&exact(1), &some(1600, gets(16, None)), echoes).report.result;
    assert_good(&result, 1600);
    assert_eq!(result.responses.unwrap().statuses, [("200".to_owned(), 1600)].into());
    assert_eq!(result.latency.service, LatencySummary::of(&times(1600, WAY)));
    let reads = reads.borrow();
    assert!(reads.iter().all(|requests| *requests == 16), "{reads:?}");
    assert_eq!(reads.len(), 100);
}

#[test]
fn a_limit_within_a_pipeline_is_exact() {
    let (result, seen) = on_web(&some(101, gets(16, None)), |_| say(ok("")));
    assert_good(&result, 101);
    assert_eq!(result.responses.unwrap().statuses, [("200".to_owned(), 101)].into());
    assert_eq!(seen.requests(), 101);
}

#[test]
fn large_bodies_are_sent_while_the_server_answers() {
    let template = Template { method: "POST".to_owned(), body: Some(vec![b'x'; 3 << 20]), ..template() };
    let mut http = asks(&template, &[goal("/", 1)], Pipeline::NONE, None);
    http.expect.body = Some(b"3145728".to_vec());
    let (result, seen) = on_web(&some(6, http), |request| say(ok(&request.body.len().to_string())));
    assert_good(&result, 6);
    assert!(result.bytes.sent >= 6 * (3 << 20));
    assert_eq!(seen.connections.get(), 2);
}

#[test]
fn variants_take_turns_in_every_loop() {
    let vary = Some(Vary { variants: 50, seed: 3 });
    for (pipeline, rate) in [(Pipeline::NONE, None), (Pipeline::Batches(4), None), (Pipeline::Single(4), Some(2000.0))]
    {
        let rendered = Rendered::render(&template(), &[goal("/{vary}/a?b=c", 1)], vary, pipeline, None).unwrap();
        let expect = Expect { length: Some(5), ..Expect::default() };
        let http = Http::on(address(), Requests::Rendered(Arc::new(rendered)), None, expect);
        let options = Options { rate, threads: vec![None, None], ..some(400, http) };
        let (result, seen) = on_web(&options, |_| say(ok("hello")));
        assert_good(&result, 400);
        assert_eq!((result.load.vary, result.load.protocol.as_deref()), (Some(50), Some("http")));
        let mut counts = BTreeMap::new();
        for request in seen.log.borrow().iter().take(400) {
            let token = &request.target()[1..17];
            let head = format!("GET /{token}/a?b=c&vary={token} HTTP/1.1\r\nHost: h\r\nCookie: vary={token}");
            assert_eq!(request.head, head);
            *counts.entry(token.to_owned()).or_insert(0) += 1;
        }
        // Two threads begin half of them apart and go on at the same pace.
        assert_eq!(
            (counts.len(), counts.values().min(), counts.values().max()),
            (50, Some(&8), Some(&8)),
            "{counts:?}"
        );
    }
}
