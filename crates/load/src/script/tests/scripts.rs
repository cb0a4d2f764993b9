//! Scripts after the patterns of those that come with wrk.

use super::{Facts, LIMITS, facts, file, lines, next, source, with};
use crate::http::source::Flow;
use crate::script::Numbers;
use brunt_results::RunResult;
use brunt_results::result::{Bytes, Errors, Load, Requests};
use std::{io::Write, net::TcpListener, time::Duration};

#[test]
fn without_functions_the_request_is_that_of_the_command_line() {
    let mut source = source("").unwrap();
    let (text, batch) = next(&mut source);
    assert_eq!(lines(&text), ["GET /path?q HTTP/1.1", "Host: localhost:8080", "X-Typed: yes", ""]);
    assert_eq!((batch.requests(), batch.is_head(0), source.wants_responses()), (1, false, false));
    assert_eq!(source.delay(), None);
    assert_eq!(next(&mut source).0, text);
}

#[test]
fn the_host_field_is_as_typed() {
    let head = |host: &str, port| {
        let facts = Facts { host: host.to_owned(), port, headers: Vec::new(), ..facts(&[]) };
        let wrk = with("", facts, LIMITS, 1).unwrap();
        lines(&next(&mut wrk.script().source(0).unwrap()).0)[1].clone()
    };
    assert_eq!(head("::1", Some(80)), "Host: [::1]:80");
    assert_eq!(head("::1", None), "Host: [::1]");
    assert_eq!(head("a.b", None), "Host: a.b");
    let mut own = source("wrk.headers['HOST'] = 'mine'").unwrap();
    assert_eq!(lines(&next(&mut own).0)[1], "HOST: mine");
    let mut plain = source("wrk.headers = {['Host'] = 'plain'}").unwrap();
    assert_eq!(lines(&next(&mut plain).0), ["GET /path?q HTTP/1.1", "Host: plain", ""]);
}

#[test]
fn post() {
    let wrk = file("post.lua", &[], 1);
    let (text, _) = next(&mut wrk.script().source(0).unwrap());
    let expected = [
        "POST /path?q HTTP/1.1",
        "Content-Length: 20",
        "Content-Type: application/x-www-form-urlencoded",
        "Host: localhost:8080",
        "X-Typed: yes",
        "name=value&other=%20",
    ];
    assert_eq!(lines(&text), expected);
}

#[test]
fn counter() {
    let wrk = file("counter.lua", &[], 1);
    let mut source = wrk.script().source(0).unwrap();
    for n in 0..3 {
        let text = lines(&next(&mut source).0);
        assert_eq!(text[0], format!("GET /item/{n} HTTP/1.1"));
        assert_eq!(text[2], format!("X-Counter: {n}"));
    }
}

#[test]
fn auth() {
    let wrk = file("auth.lua", &[], 1);
    let mut source = wrk.script().source(0).unwrap();
    assert!(source.wants_responses());
    assert!(next(&mut source).0.starts_with("GET /login HTTP/1.1\r\n"));
    assert_eq!(source.response(503, &[], b""), Flow::Continue);
    assert!(next(&mut source).0.starts_with("GET /login HTTP/1.1\r\n"));
    assert_eq!(source.response(200, &[("Server", b"x"), ("X-Token", b"secret")], b"hi"), Flow::Continue);
    let text = next(&mut source).0;
    assert!(text.starts_with("GET /private HTTP/1.1\r\n") && text.contains("X-Token: secret\r\n"), "{text}");
}

#[test]
fn delay() {
    let wrk = file("delay.lua", &[], 1);
    let mut source = wrk.script().source(0).unwrap();
    for _ in 0..100 {
        let pause = source.delay().unwrap();
        assert!((Duration::from_millis(10)..=Duration::from_millis(50)).contains(&pause), "{pause:?}");
    }
    assert_eq!(super::source("delay = function() return 1.5 end").unwrap().delay(), Some(Duration::from_micros(1500)));
    for nothing in ["0", "nil", ""] {
        assert_eq!(super::source(&format!("function delay() return {nothing} end")).unwrap().delay(), None);
    }
}

#[test]
fn pipeline() {
    let wrk = file("pipeline.lua", &["4"], 1);
    let mut source = wrk.script().source(0).unwrap();
    for _ in 0..2 {
        let (text, batch) = next(&mut source);
        assert_eq!(text.matches(" HTTP/1.1\r\n").count(), 4);
        assert_eq!((0..4).map(|at| batch.is_head(at)).collect::<Vec<_>>(), [false, true, false, false]);
        assert_eq!(batch.requests(), 4);
    }
}

#[test]
fn stop() {
    let wrk = file("stop.lua", &[], 1);
    let mut source = wrk.script().source(0).unwrap();
    let flows: Vec<_> = (0..4).map(|_| source.response(200, &[], b"")).collect();
    assert_eq!(flows, [Flow::Continue, Flow::Continue, Flow::Stop, Flow::Stop]);
}

#[test]
fn setup() {
    let wrk = file("setup.lua", &[], 2);
    let script = wrk.script();
    std::thread::scope(|scope| {
        for thread in 0..2 {
            let script = &script;
            scope.spawn(move || {
                let mut source = script.source(thread).unwrap();
                for _ in 0..=thread {
                    next(&mut source);
                    source.response(200, &[], b"");
                }
            });
        }
    });
    wrk.done(&RunResult::default(), &Numbers::default(), &Numbers::default()).unwrap();
    assert_eq!(wrk.vm.lua().globals().get::<u32>("total").unwrap(), 3);
}

#[test]
fn report() {
    let wrk = file("report.lua", &[], 1);
    assert!(wrk.has_done());
    let mut nanos = brunt_results::latency::new_histogram();
    for micros in 1..=1000 {
        nanos.record(micros * 1000).unwrap();
    }
    let result = RunResult {
        load: Load { measured_s: 2.0, ..Load::default() },
        requests: Requests { completed: 996, ..Requests::default() },
        bytes: Bytes { received: 5_000_000_000, ..Bytes::default() },
        errors: Errors { connect: 1, reset: 2, protocol: 3, status: 4, timeout: 5 },
        ..RunResult::default()
    };
    wrk.done(&result, &Numbers::of_times(&nanos), &Numbers::of_rates([10, 20])).unwrap();
    let figures: Vec<f64> = wrk.vm.lua().globals().get("figures").unwrap();
    let expected = [1.0, 1000.0, 500.5, 288.7, 15.0, 500.0, 900.0, 990.0, 1000.0];
    for (figure, expected) in figures.iter().zip(expected) {
        assert!((figure / expected - 1.0).abs() < 2e-3, "{figures:?}");
    }
    assert_eq!(figures.len(), expected.len());
}

#[test]
fn addr() {
    // Only one of the addresses of the name, 127.0.0.1 and perhaps ::1, has a listener.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let here = listener.local_addr().unwrap();
    let facts = Facts { port: Some(here.port()), ..facts(&[]) };
    let wrk = with(include_str!("../../../tests/wrk/addr.lua"), facts, LIMITS, 3).unwrap();
    assert_eq!(wrk.addresses(), [here, here, here]);
    let source = wrk.script().source(2).unwrap();
    drop(source);
}

#[test]
fn a_list_of_urls_and_a_module_are_read() {
    let mut list = tempfile::NamedTempFile::new().unwrap();
    list.write_all(b"/a\n/b\n\n/c").unwrap();
    let wrk = file("urls.lua", &[list.path().to_str().unwrap()], 1);
    let mut source = wrk.script().source(0).unwrap();
    let mut first = || lines(&next(&mut source).0);
    assert_eq!(first()[..2], ["GET /a?dressed HTTP/1.1", "Accept: */*"]);
    assert_eq!((first()[0].as_str(), first()[0].as_str()), ("GET /b?dressed HTTP/1.1", "GET /c?dressed HTTP/1.1"));
    assert_eq!(first()[0], "GET /a?dressed HTTP/1.1");
}

#[test]
fn files_can_be_read_in_all_formats_and_not_written() {
    let mut list = tempfile::NamedTempFile::new().unwrap();
    list.write_all(b"one\ntwo\r\n\xff\0three").unwrap();
    let path = list.path().display();
    let script = format!(
        r#"local f = assert(io.open("{path}", "rb"))
        assert(f:read() == "one" and f:read("*L") == "two\r\n" and f:read(2) == "\255\0" and f:read("*a") == "three")
        assert(f:read("*a") == "" and f:read("*l") == nil and f:read(1) == nil)
        f:close()
        assert(not pcall(f.read, f))
        local n = 0
        for line in io.lines("{path}") do n = n + 1 end
        assert(n == 3)
        for _, mode in ipairs({{"w", "a", "r+"}}) do
            local file, why = io.open("{path}", mode)
            assert(file == nil and string.find(why, "only read"))
        end
        assert(not pcall(io.lines, "{path}.none") and io.popen == nil and os.execute == nil and os.remove == nil)"#
    );
    next(&mut source(&script).unwrap());
}

#[test]
fn names_of_fields_are_case_insensitive() {
    let script = "wrk.headers['x-typed'] = 'again' wrk.headers['X-New'] = 1 wrk.headers['content-LENGTH'] = 99
        wrk.body = 'hi'
        assert(wrk.headers['X-TYPED'] == 'again' and wrk.headers['x-new'] == 1 and wrk.headers.none == nil)";
    let text = lines(&next(&mut source(script).unwrap()).0);
    let expected =
        ["GET /path?q HTTP/1.1", "Content-Length: 2", "Host: localhost:8080", "X-New: 1", "X-Typed: again", "hi"];
    assert_eq!(text, expected);
}
