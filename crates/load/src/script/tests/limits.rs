//! Invalid scripts, in every function they may have: an error of one line, in bounded time.

use super::{next, source, text};
use crate::http::source::Flow;
use crate::script::Numbers;
use brunt_results::RunResult;

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
fn an_error_at_the_start_fails_the_run() {
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

#[test]
fn an_unknown_thread_has_no_source() {
    let said = text("").unwrap().script().source(1).err().unwrap();
    assert!(said.contains("load thread 1"), "{said}");
}
