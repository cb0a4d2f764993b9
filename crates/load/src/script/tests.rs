//! wrk scripts, run as by a load thread, without a connection: scripts after the patterns of those that come with wrk, and
//! invalid ones, which make an error of one line in bounded time in every function they may have.

use super::*;
use crate::http::source::{Batch, Flow, Source};
use brunt_results::result::{Bytes, Errors, Load, Requests};
use std::{io::Write, net::TcpListener};

/// The facts of `brunt load http://localhost:8080/path?q -- one`.
pub(super) fn facts(arguments: &[&str]) -> Facts {
    Facts {
        url: "http://localhost:8080/path?q".to_owned(),
        scheme: "http".to_owned(),
        host: "localhost".to_owned(),
        port: Some(8080),
        path: "/path?q".to_owned(),
        method: None,
        body: None,
        headers: vec![("X-Typed".to_owned(), "yes".to_owned())],
        addresses: vec![([127, 0, 0, 1], 8080).into()],
        arguments: arguments.iter().map(|argument| (*argument).to_owned()).collect(),
    }
}

/// One of the scripts in `tests/wrk`.
fn file(name: &str, arguments: &[&str], threads: usize) -> Wrk {
    let directory = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/wrk"));
    Wrk::open(&directory.join(name), facts(arguments), threads).unwrap()
}

/// The source of thread 0 of one of the scripts in `tests/wrk`.
fn source_of(name: &str, arguments: &[&str]) -> Box<dyn Source> {
    file(name, arguments, 1).script().source(0).unwrap()
}

/// A script given as text.
fn with(text: &str, facts: Facts, limits: Limits, threads: usize) -> Result<Wrk, brunt_luau::ScriptError> {
    let (name, text) = ("test.lua".to_owned(), text.to_owned());
    Wrk::new(
        Program { name, directory: "".into(), text, facts, limits, named: Named::default(), is_shared: false },
        threads,
    )
}

/// The same with small limits.
fn text(text: &str) -> Result<Wrk, brunt_luau::ScriptError> {
    let hundredth = std::time::Duration::from_millis(10);
    let limits = Limits { memory: 16 << 20, start: hundredth * 5, call: hundredth };
    assert!(limits.memory < LIMITS.memory);
    with(text, facts(&[]), limits, 1)
}

/// The source of thread 0, or the error at its start.
fn source(script: &str) -> Result<Box<dyn Source>, String> {
    text(script).map_err(|error| error.to_string())?.script().source(0)
}

fn next(source: &mut Box<dyn Source>) -> (String, Batch) {
    let mut out = Vec::new();
    let batch = source.next(&mut out).unwrap();
    (String::from_utf8(out).unwrap(), batch)
}

/// The lines of a request, with its fields sorted: tables have no order.
fn lines(text: &str) -> Vec<String> {
    let (head, body) = text.split_once("\r\n\r\n").expect("a whole head");
    let mut lines: Vec<String> = head.split("\r\n").map(str::to_owned).collect();
    lines[1..].sort();
    lines.push(body.to_owned());
    lines
}

#[test]
fn without_request_it_is_that_of_the_command_line_with_the_changes_of_the_script() {
    let mut source = source("").unwrap();
    let (text, batch) = next(&mut source);
    assert_eq!((batch.requests(), batch.is_head(0), source.wants_responses()), (1, false, false));
    assert_eq!(source.delay(), None);
    assert_eq!(next(&mut source).0, text);
    let get = ["GET /path?q HTTP/1.1", "Host: localhost:8080", "X-Typed: yes", ""];
    let post = [
        "POST /path?q HTTP/1.1",
        "Content-Length: 20",
        "Content-Type: application/x-www-form-urlencoded",
        "Host: localhost:8080",
        "X-Typed: yes",
        "name=value&other=%20",
    ];
    // Names of fields are case-insensitive.
    let names = "wrk.headers['x-typed'] = 'again' wrk.headers['X-New'] = 1 wrk.headers['content-LENGTH'] = 99
        wrk.body = 'hi'
        assert(wrk.headers['X-TYPED'] == 'again' and wrk.headers['x-new'] == 1 and wrk.headers.none == nil)";
    let named =
        ["GET /path?q HTTP/1.1", "Content-Length: 2", "Host: localhost:8080", "X-New: 1", "X-Typed: again", "hi"];
    for (mut source, expected) in
        [(source, &get[..]), (source_of("post.lua", &[]), &post), (self::source(names).unwrap(), &named)]
    {
        assert_eq!(lines(&next(&mut source).0), expected);
    }
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
fn counter() {
    let mut source = source_of("counter.lua", &[]);
    for n in 0..3 {
        let text = lines(&next(&mut source).0);
        assert_eq!(text[0], format!("GET /item/{n} HTTP/1.1"));
        assert_eq!(text[2], format!("X-Counter: {n}"));
    }
}

#[test]
fn auth() {
    let mut source = source_of("auth.lua", &[]);
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
    let mut source = source_of("delay.lua", &[]);
    for _ in 0..100 {
        let pause = source.delay().unwrap();
        assert!((Duration::from_millis(10)..=Duration::from_millis(50)).contains(&pause), "{pause:?}");
    }
    assert_eq!(self::source("delay = function() return 1.5 end").unwrap().delay(), Some(Duration::from_micros(1500)));
    for nothing in ["0", "nil", ""] {
        assert_eq!(self::source(&format!("function delay() return {nothing} end")).unwrap().delay(), None);
    }
}

#[test]
fn pipeline() {
    let mut source = source_of("pipeline.lua", &["4"]);
    for _ in 0..2 {
        let (text, batch) = next(&mut source);
        assert_eq!(text.matches(" HTTP/1.1\r\n").count(), 4);
        assert_eq!((0..4).map(|at| batch.is_head(at)).collect::<Vec<_>>(), [false, true, false, false]);
        assert_eq!(batch.requests(), 4);
    }
}

#[test]
fn stop() {
    let mut source = source_of("stop.lua", &[]);
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
        errors: Errors { connect: 1, reset: 2, protocol: 3, status: 4, timeout: 5, ..Errors::default() },
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
    let wrk = with(include_str!("../../tests/wrk/addr.lua"), facts, LIMITS, 3).unwrap();
    assert_eq!(wrk.addresses(), [here, here, here]);
    let source = wrk.script().source(2).unwrap();
    drop(source);
}

#[test]
fn a_list_of_urls_and_a_module_are_read() {
    let mut list = tempfile::NamedTempFile::new().unwrap();
    list.write_all(b"/a\n/b\n\n/c").unwrap();
    let mut source = source_of("urls.lua", &[list.path().to_str().unwrap()]);
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

fn error(script: &str) -> String {
    let mut source = match source(script) {
        Ok(source) => source,
        Err(error) => return error,
    };
    let error = source.next(&mut Vec::new()).expect_err(script);
    assert_eq!(error.lines().count(), 1, "{error}");
    error
}

#[test]
fn results_other_than_requests_are_rejected() {
    for (script, words) in [
        ("function request() end", "request() returned a nil: return a text"),
        ("function request() return {} end", "request() returned a table"),
        ("function request() return '' end", "the text is empty"),
        ("function request() return 'GET /' end", "request 1 of the text is not whole"),
        ("function request() error('no') end", "test.lua:1: no"),
        ("function request() return wrk.format(nil, nil, {}, {}) end", "test.lua"),
        ("function request() while true do end end", "ran longer than the 10ms"),
        ("function request() return string.rep('x', 1e8) end", "16 MiB of memory"),
        ("function request() wrk.thread:stop() return wrk.format() end", "define response()"),
        ("request = 1", "request is a integer"),
        ("wrk.method = nil", "wrk:"),
    ] {
        let said = error(script);
        assert!(
            said.contains(words) || (words == "request is a integer" && said.contains("request is a number")),
            "{script}: {said}"
        );
    }
}

#[test]
fn an_error_at_the_start_or_an_unknown_thread_fails_the_run() {
    for (script, words) in [
        ("local x =", "test.lua:1: "),
        ("goto done ::done::", "test.lua:1: "),
        ("local ffi = require('ffi')", "no module ffi"),
        ("error('early')", "test.lua:1: early"),
        ("while true do end", "ran longer than the 50ms"),
        ("function init() os.exit(3) end", "the script ended the run (os.exit(3))"),
        ("function init() while true do end end", "ran longer"),
        ("function setup(thread) thread:set('f', print) end", "cannot transfer 'function' to thread"),
        ("function setup(thread) local t = {} t.t = t thread:set('t', t) end", "in itself"),
        ("function setup(thread) thread.addr = 'here' end", "a string is not an address"),
        ("function setup(thread) thread.other = 1 end", "cannot set 'other' on thread"),
        ("function setup() wrk.lookup('localhost', 'gopher') end", "not a known service"),
        ("setup = true", "setup is a boolean"),
        ("delay = 5", "delay is a"),
    ] {
        let said = source(script).err().unwrap_or_else(|| panic!("{script} starts"));
        assert!(said.contains(words) && said.lines().count() == 1, "{script}: {said}");
    }
    let said = text("").unwrap().script().source(1).err().unwrap();
    assert!(said.contains("load thread 1"), "{said}");
}

#[test]
fn an_error_in_a_response_or_a_delay_fails_the_next_request() {
    for script in
        ["function response() error('no') end", "function delay() error('no') end", "function delay() return -1 end"]
    {
        let mut source = source(script).unwrap();
        next(&mut source);
        assert_eq!((source.response(200, &[("A", b"b")], b"body"), source.delay()), (Flow::Continue, None));
        let error = source.next(&mut Vec::new()).expect_err(script);
        assert!(error.contains("test.lua") && error.lines().count() == 1, "{error}");
        next(&mut source);
    }
}

#[test]
fn done_may_fail_and_cannot_get_other_values() {
    let run = |script: &str| {
        let wrk = text(script).unwrap();
        next(&mut wrk.script().source(0).unwrap());
        wrk.done(&RunResult::default(), &Numbers::default(), &Numbers::default())
    };
    let with =
        |body: &str| format!("function setup(t) thread = t end function f() end function done(s, l, r) {body} end");
    for (body, words) in [
        ("thread:get('f')", "cannot transfer 'function' to thread"),
        ("error('late')", "test.lua:1: late"),
        ("while true do end", "ran longer"),
        ("l.median()", "test.lua:1: "),
    ] {
        let said = run(&with(body)).expect_err(body).to_string();
        assert!(said.contains(words), "{body}: {said}");
    }
    run(&with(
        "assert(l(1) == 0 and #l == 0 and l:percentile(99) == 0 and s.requests == 0 and thread:get('x') == nil)",
    ))
    .unwrap();
    run("").unwrap();
}
