//! The null server answers loads of every shape correctly.

use super::*;
use crate::check::tests::valid;
use crate::http::{Pipeline, Rendered, RequestTarget, Script, Template};
use brunt_testkit::{alone, until};

fn load_on(target: Target) -> Options {
    let timeout = Duration::from_secs(10);
    Options {
        target,
        threads: vec![None],
        group: None,
        requests: Some(1),
        rate: Some(1.0),
        connect_rate: Some(1.0),
        timeout,
        ..valid()
    }
}

fn nowhere() -> std::net::SocketAddr {
    "127.0.0.1:9".parse().unwrap()
}

fn http(template: &Template, pipeline: u32, reuse: Option<u64>) -> Http {
    let target = |target: &str, weight| RequestTarget {
        host: "h:1".to_owned(),
        target: target.to_owned(),
        weight,
        name: 0,
        authorization: None,
    };
    let targets = [target("/", 3), target("/a/longer/one", 1)];
    let rendered = Rendered::render(template, &targets, None, Pipeline::Batches(pipeline), reuse).unwrap();
    Http::on(nowhere(), Requests::Rendered(Arc::new(rendered)), reuse, Expect::default())
}

fn get() -> Template {
    Template { method: "GET".to_owned(), fields: Vec::new(), body: None, http10: false }
}

#[test]
fn every_transport_has_a_ceiling_and_leaves_no_thread_behind() {
    // Of the tests that start null servers, whose threads one of them counts.
    let _alone = alone();
    for address in [nowhere().into(), Address::Unix("/nowhere".into())] {
        let load = load_on(Target::Echo { address, size: 100, reuse: None });
        assert!(ceiling(&load, &[], 0).unwrap() > 0.0);
        // The limits of the options do not count: 1 request, 1 per second.
        let (free, _target) = redirect(&load, &[], 0).unwrap();
        assert_eq!((free.requests, free.rate, free.connect_rate), (None, None, None));
    }
    // The kernel removes a thread from the list a moment after it was joined.
    let is_running = || {
        let threads = std::fs::read_dir("/proc/self/task").unwrap();
        let mut names = threads.filter_map(|thread| std::fs::read_to_string(thread.ok()?.path().join("comm")).ok());
        names.any(|name| name.trim_end() == "null")
    };
    until("the null server has ended", || !is_running());
}

#[test]
fn http_requests_of_every_shape_are_answered_without_parsing() {
    // Of the tests that start null servers, whose threads one of them counts.
    let _alone = alone();
    let post = Template { method: "POST".to_owned(), body: Some(vec![b'x'; 300_000]), ..get() };
    let text = Expect { body: Some(b"the words".to_vec()), length: Some(1), statuses: "404".parse().unwrap() };
    for (what, http, body, expected) in [
        ("requests of different length", http(&get(), 1, None), 13, 13),
        ("a pipeline", http(&get(), 16, None), 13, 13),
        ("no body", http(&get(), 1, None), 0, 0),
        ("a reply in pieces", http(&get(), 1, None), 400_000, 400_000),
        ("a request in pieces", http(&post, 1, None), 13, 13),
        ("HEAD", http(&Template { method: "HEAD".to_owned(), ..get() }, 2, None), 13, 0),
        ("connections that end", http(&get(), 2, Some(6)), 13, 13),
        ("HTTP/1.0, a connection each", http(&Template { http10: true, ..get() }, 1, Some(1)), 13, 13),
        ("HTTP/1.0", http(&Template { http10: true, ..get() }, 1, None), 13, 13),
        ("text", Http { expect: text.clone(), ..http(&get(), 1, None) }, 20, 20),
        ("text alone", Http { expect: text, ..http(&get(), 1, None) }, 1, 9),
    ] {
        // Whole batches: the target answers each write, however many requests it has.
        let (mut options, _target) = redirect(&load_on(Target::Http(http)), &[], body).unwrap();
        (options.requests, options.duration, options.warmup) = (Some(96), Duration::from_secs(60), Duration::ZERO);
        let result = run(&options, &mut Silent).unwrap().result;
        assert_eq!((result.requests.completed, result.requests.failed), (96, 0), "{what}: {:?}", result.errors);
        let responses = result.responses.unwrap();
        let replies = responses.statuses["200"];
        assert_eq!((responses.statuses.len(), responses.body_bytes), (1, Some(replies * expected)), "{what}");
    }
}

#[test]
fn requests_of_a_script_and_large_replies_are_rejected() {
    let script = Script::new(|_| Err(String::new()));
    let refused = |http| match ceiling(&load_on(Target::Http(http)), &[], 1 << 30) {
        Err(LoadError::Options(why)) => why,
        other => panic!("{other:?}"),
    };
    assert!(refused(Http::on(nowhere(), Requests::Script(script), None, Expect::default())).contains("script"));
    assert!(refused(http(&get(), 1, None)).contains("1073741824 bytes"));
}
