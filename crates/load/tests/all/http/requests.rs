//! Requests over real sockets: pieces, and more bytes than buffers hold.

use crate::shared::{run, web::*};
use brunt_load::http::Template;
use std::io::Read;
use std::sync::{Arc, Mutex};

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
