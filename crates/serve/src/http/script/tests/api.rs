//! The script API: requests, return values, libraries.

use super::{Bench, refusal, text};
use crate::http::handler::{Content, Fault, Handler, Response};
use std::{rc::Rc, time::Duration};

fn respond(expression: &str) -> Response {
    let mut bench = Bench::new(&format!("function on_request(req) return {expression} end"));
    let answer = bench.get();
    assert_eq!(*bench.said.lock().unwrap(), Vec::<String>::new());
    answer
}

#[test]
fn the_scripts_of_the_tutorial_answer_as_the_native_services_do() {
    let hello = include_str!("../../../../../../docs/scripts/hello.luau");
    let echo = include_str!("../../../../../../docs/scripts/echo.luau");
    let whoami = include_str!("../../../../../../docs/scripts/whoami.luau");
    let post = "POST /a/b?c HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello";
    assert_eq!(Bench::new(hello).text(post), "Hi, there!\n");
    assert_eq!(Bench::new(echo).text(post), "hello");
    assert_eq!(Bench::new(whoami).text(post), "You are requesting /a/b from 10.0.0.1\n");
    assert!(!Bench::new(hello).instance.wants_body() && Bench::new(echo).instance.wants_body());
}

#[test]
fn req_has_all_parts_of_the_request() {
    let mut bench = Bench::new(
        r#"function on_request(req)
            local a, h = req.args, req.headers
            assert(req.args == a and req.headers == h, "made once")
            return table.concat({req.method, req.path, req.query, a.x, a.y, a.z, tostring(a.none), h["X-Two"], h.HOST,
                tostring(h.none), req.body, req.peer, req["local"], req.version}, "|")
        end"#,
    );
    let request =
        "PUT /p%20q?x=1%2B1&y&z=+&x=2 HTTP/1.1\r\nHost: a\r\nx-two: one\r\nX-TWO: two\r\nContent-Length: 2\r\n\r\nhi";
    let expected = "PUT|/p%20q|x=1%2B1&y&z=+&x=2|1+1|| |nil|one, two|a|nil|hi|10.0.0.1:4321|127.0.0.1:8080|1.1";
    assert_eq!(bench.text(request), expected);
    // Nothing of it is left in the next call.
    let expected = "GET|/||nil|nil|nil";
    let mut bench = Bench::new(
        r#"function on_request(req)
            if req.method == "PUT" then return req.args.x .. req.headers["x-two"] end
            return table.concat({req.method, req.path, req.query .. req.body, tostring(req.args.x),
                tostring(req.headers["x-two"]), tostring(next(req.args))}, "|")
        end"#,
    );
    assert_eq!(bench.text(request), "1+1one, two");
    assert_eq!(text(&bench.get()), expected);
}

#[test]
fn headers_iterate_in_order_each_name_once() {
    let mut bench = Bench::new(
        r#"function on_request(req)
            local all = {}
            for name, value in req.headers do table.insert(all, name .. "=" .. value) end
            return table.concat(all, ";") .. " " .. json.encode(req.headers)
        end"#,
    );
    let request = "GET / HTTP/1.1\r\nHost: a\r\nB: 1\r\nA: 2\r\nb: 3\r\n\r\n";
    assert_eq!(bench.text(request), r#"host=a;b=1, 3;a=2 {"host":"a","b":"1, 3","a":"2"}"#);
}

#[test]
fn an_unknown_key_of_req_is_an_error_that_lists_the_keys() {
    let said = refusal("req.pth");
    assert!(said.starts_with("test.luau:1: req has no `pth`: it has method, path, query"), "{said}");
    assert!(refusal("req[{}]").contains("req has no a table"));
}

#[test]
fn a_text_is_a_plain_text_response() {
    let answer = respond(r#""hi""#);
    assert_eq!((answer.status, text(&answer)), (200, "hi".to_owned()));
    assert_eq!(answer.fields, [("Content-Type".to_owned(), b"text/plain; charset=utf-8".to_vec())]);
    assert_eq!((answer.delay, answer.fault), (Duration::ZERO, None));
}

#[test]
fn a_status_comes_with_headers_and_a_body() {
    let answer = respond(r#"201, {["X-A"] = "b", n = 7, ["Set-Cookie"] = {"a=1", "b=2"}}, "made""#);
    assert_eq!((answer.status, text(&answer)), (201, "made".to_owned()));
    let mut fields = answer.fields;
    fields.sort();
    let field = |name: &str, value: &str| (name.to_owned(), value.as_bytes().to_vec());
    assert_eq!(fields, [field("Set-Cookie", "a=1"), field("Set-Cookie", "b=2"), field("X-A", "b"), field("n", "7")]);
    let short = respond("404");
    assert_eq!((short.status, text(&short), short.fields), (404, String::new(), Vec::new()));
    assert_eq!(text(&respond("200, nil, 12.5")), "12.5");
}

#[test]
fn a_table_sets_all_parts_of_a_response() {
    let answer = respond(r#"{status = 503, headers = {a = "b"}, body = "no", delay = 0.25, fault = {truncate = 1}}"#);
    assert_eq!((answer.status, text(&answer)), (503, "no".to_owned()));
    assert_eq!((answer.delay, answer.fault), (Duration::from_millis(250), Some(Fault::Truncate(1))));
    assert_eq!(respond("{}").status, 200);
    for (name, fault) in [("reset", Fault::Reset), ("stall", Fault::Stall), ("garbage", Fault::Garbage)] {
        assert_eq!(respond(&format!("{{fault = {name:?}}}")).fault, Some(fault));
    }
}

#[test]
fn a_body_is_sent_in_pieces() {
    let pieces = |expression: &str| match respond(expression).body {
        Content::Pieces { pieces, every, sized } => {
            let text = |piece: &Rc<[u8]>| String::from_utf8(piece.to_vec()).unwrap();
            (pieces.iter().map(text).collect::<Vec<_>>().join("|"), every.as_millis(), sized)
        }
        other => panic!("{other:?}"),
    };
    let is = |text: &str, every, sized| (text.to_owned(), every, sized);
    assert_eq!(pieces(r#"{body = "abcdefg", drip = {pieces = 3, every = 0.1}}"#), is("abc|def|g", 100, true));
    assert_eq!(pieces(r#"{body = "abcdefg", drip = {bytes = 4}}"#), is("abcd|efg", 0, true));
    assert_eq!(pieces(r#"{body = "ab", drip = {pieces = 9}}"#), is("a|b", 0, true));
    assert_eq!(pieces(r#"{drip = {pieces = 9}}"#), is("", 0, true));
    assert_eq!(pieces(r#"{chunks = {"a", "", 2, "c"}}"#), is("a|2|c", 0, false));
    assert_eq!(pieces(r#"{chunks = {"a", "b"}, drip = {every = 2}}"#), is("a|b", 2000, false));
}

#[test]
fn invalid_return_values_are_refused_with_a_remedy() {
    for (expression, words) in [
        ("nil", "returned nothing: return a text"),
        ("true", "returned a boolean"),
        ("print", "returned a function"),
        (r#""a", "b""#, "after its text"),
        ("{}, 1", "after its text or table"),
        ("199", "199 is not a status: use 200 to 599"),
        ("200.5", "200.5 is not a status"),
        ("0/0", "is not a status"),
        ("600", "600 is not a status"),
        (r#"200, "body""#, "for its headers: return a table of them, or nil"),
        ("200, nil, {}", "the body is a table: make it a text, or use json.encode"),
        ("200, {[1] = 'a'}", "headers contains 1, which is not a field name"),
        ("200, {['a b'] = 'c'}", "`a b`, which is not a field name"),
        ("200, {a = 'b\\r\\nc: d'}", "contains a control character"),
        ("200, {a = true}", "header a is a boolean"),
        ("200, {['content-LENGTH'] = 3}", "which the server sets: leave it out"),
        ("{statsu = 200}", "`statsu`, which is unknown: use status, headers"),
        ("{delay = -1}", "delay is -1: give seconds from 0 to 3600"),
        ("{delay = 1e9}", "give seconds"),
        ("{delay = '1'}", "delay is `1`"),
        ("{headers = 1}", "headers is 1: make it a table"),
        ("{drip = 3}", "such as {pieces = 10, every = 0.1}"),
        ("{drip = {}}", "drip has neither pieces nor bytes"),
        ("{drip = {pieces = 0}}", "0 is not a number of pieces"),
        ("{drip = {pieces = 1, bytes = 1}}", "give one"),
        ("{drip = {often = 1}}", "`often`, which is unknown"),
        ("{chunks = 'a'}", "make it a list of texts"),
        ("{chunks = {{}}}", "chunks contains a table"),
        ("{chunks = {'a'}, body = 'b'}", "give one"),
        ("{chunks = {'a'}, drip = {pieces = 2}}", "pieces already"),
        ("{fault = 'refuse'}", "fault is `refuse`: use"),
        ("{fault = {cut = 1}}", "fault is a table"),
        ("{fault = {}}", "fault is a table"),
        ("{body = string.rep('a', 200000), drip = {bytes = 1}}", "at most 100000 are allowed"),
    ] {
        let said = refusal(expression);
        assert!(said.contains(words) && said.starts_with("test.luau"), "{expression}: {said}");
        assert_eq!(said.lines().count(), 1, "{said}");
    }
}

#[test]
fn state_is_kept_per_worker() {
    let counter =
        "function on_request() state.n = (state.n or 0) + 1 count = (count or 0) + 1 return `{state.n} {count}` end";
    let mut one = Bench::new(counter);
    let mut other = Bench::new(counter);
    for expected in ["1 1", "2 2", "3 3"] {
        assert_eq!(text(&one.get()), expected);
    }
    assert_eq!(text(&other.get()), "1 1");
}

#[test]
fn random_numbers_depend_on_all_bits_of_the_seed() {
    let dice = "function on_request() return `{math.random(1e9)} {math.random()}` end";
    let roll = |seed| text(&Bench::seeded(dice, seed).get());
    assert_eq!(roll(7), roll(7));
    assert_ne!(roll(7), roll(7 | 1 << 48));
    assert_ne!(roll(7), roll(8));
}

#[test]
fn json_survives_a_round_trip() {
    let mut bench = Bench::new("function on_request(req) return json.encode(json.decode(req.body)) end");
    for text in
        ["null", "true", "-1.5", "12", "1e300", "\"\"", "[]", "{}", "[1,[2,null],{}]", r#"{"a":[{"b":"ü\n\u0000"}]}"#]
    {
        let request = format!("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n{text}", text.len());
        let back = bench.text(&request);
        let value = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
        assert_eq!(value(&back), value(text), "{back}");
    }
    for (expression, words) in [
        ("json.decode('{')", "json: EOF"),
        ("json.decode('1 2')", "json: trailing"),
        ("json.decode(string.rep('[', 10000))", "json: recursion"),
        ("json.encode(print)", "json: a function cannot be written"),
        ("json.encode(0/0)", "cannot be written"),
        ("json.encode({[{}] = 1})", "cannot be a name"),
        ("(function() local t = {} t.t = t return json.encode(t) end)()", "contains itself"),
    ] {
        let said = refusal(expression);
        assert!(said.contains(words) && said.starts_with("test.luau:1: "), "{expression}: {said}");
    }
    assert_eq!(text(&respond("json.encode(json.array()) .. json.encode({json.null, 1})")), "[][null,1]");
}

#[test]
fn print_goes_to_the_sink_and_not_to_the_client() {
    let mut bench = Bench::new("print('once') function on_request(req) print('got', req.path, nil) return 'x' end");
    assert_eq!(text(&bench.get()), "x");
    assert_eq!(*bench.said.lock().unwrap(), ["once", "got\t/\tnil"]);
}
