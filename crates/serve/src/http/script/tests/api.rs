//! The script API: requests, return values, libraries.

use super::{Bench, text};
use crate::http::handler::{Content, Fault, Handler, Response};
use std::time::Duration;

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
fn scripts_read_all_parts_of_a_request() {
    let put =
        "PUT /p%20q?x=1%2B1&y&z=+&x=2 HTTP/1.1\r\nHost: a\r\nx-two: one\r\nX-TWO: two\r\nContent-Length: 2\r\n\r\nhi";
    for (body, request, expected) in [
        (
            r#"local a, h = req.args, req.headers
            assert(req.args == a and req.headers == h, "made once")
            return table.concat({req.method, req.path, req.query, a.x, a.y, a.z, tostring(a.none), h["X-Two"], h.HOST,
                tostring(h.none), req.body, req.peer, req["local"], req.version}, "|")"#,
            put,
            "PUT|/p%20q|x=1%2B1&y&z=+&x=2|1+1|| |nil|one, two|a|nil|hi|10.0.0.1:4321|127.0.0.1:8080|1.1",
        ),
        // Fields are iterated in order, each name once.
        (
            r#"local all = {}
            for name, value in req.headers do table.insert(all, name .. "=" .. value) end
            return table.concat(all, ";") .. " " .. json.encode(req.headers)"#,
            "GET / HTTP/1.1\r\nHost: a\r\nB: 1\r\nA: 2\r\nb: 3\r\n\r\n",
            r#"host=a;b=1, 3;a=2 {"host":"a","b":"1, 3","a":"2"}"#,
        ),
    ] {
        assert_eq!(Bench::new(&format!("function on_request(req) {body} end")).text(request), expected);
    }
    let mut bench = Bench::new(
        r#"function on_request(req)
            if req.method == "PUT" then return req.args.x .. req.headers["x-two"] end
            return table.concat({req.method, req.path, req.query .. req.body, tostring(req.args.x),
                tostring(req.headers["x-two"]), tostring(next(req.args))}, "|")
        end"#,
    );
    assert_eq!(bench.text(put), "1+1one, two");
    // Nothing of it is left in the next call.
    assert_eq!(bench.body(), "GET|/||nil|nil|nil");
}

fn whole(status: u16, body: &str) -> Response {
    let body = Content::Whole(body.as_bytes().into());
    Response { status, fields: Vec::new(), body, delay: Duration::ZERO, fault: None }
}

#[test]
fn return_values_are_responses() {
    let fields = |fields: &[(&str, &str)]| -> Vec<_> {
        fields.iter().map(|(name, value)| ((*name).to_owned(), value.as_bytes().to_vec())).collect()
    };
    let pieces = |pieces: &[&str], every, sized| {
        let pieces = pieces.iter().map(|piece| piece.as_bytes().into()).collect();
        Response { body: Content::Pieces { pieces, every: Duration::from_millis(every), sized }, ..whole(200, "") }
    };
    let fault = |fault| Response { fault: Some(fault), ..whole(200, "") };
    for (expression, expected) in [
        (r#""hi""#, Response { fields: fields(&[("Content-Type", "text/plain; charset=utf-8")]), ..whole(200, "hi") }),
        (
            r#"201, {["X-A"] = "b", n = 7, ["Set-Cookie"] = {"a=1", "b=2"}}, "made""#,
            Response {
                fields: fields(&[("Set-Cookie", "a=1"), ("Set-Cookie", "b=2"), ("X-A", "b"), ("n", "7")]),
                ..whole(201, "made")
            },
        ),
        ("404", whole(404, "")),
        ("200, nil, 12.5", whole(200, "12.5")),
        (
            r#"{status = 503, headers = {a = "b"}, body = "no", delay = 0.25, fault = {truncate = 1}}"#,
            Response {
                fields: fields(&[("a", "b")]),
                delay: Duration::from_millis(250),
                fault: Some(Fault::Truncate(1)),
                ..whole(503, "no")
            },
        ),
        ("{}", whole(200, "")),
        (r#"{fault = "reset"}"#, fault(Fault::Reset)),
        (r#"{fault = "stall"}"#, fault(Fault::Stall)),
        (r#"{fault = "garbage"}"#, fault(Fault::Garbage)),
        (r#"{body = "abcdefg", drip = {pieces = 3, every = 0.1}}"#, pieces(&["abc", "def", "g"], 100, true)),
        (r#"{body = "abcdefg", drip = {bytes = 4}}"#, pieces(&["abcd", "efg"], 0, true)),
        (r#"{body = "ab", drip = {pieces = 9}}"#, pieces(&["a", "b"], 0, true)),
        (r#"{drip = {pieces = 9}}"#, pieces(&[], 0, true)),
        (r#"{chunks = {"a", "", 2, "c"}}"#, pieces(&["a", "2", "c"], 0, false)),
        (r#"{chunks = {"a", "b"}, drip = {every = 2}}"#, pieces(&["a", "b"], 2000, false)),
    ] {
        let mut answer = respond(expression);
        answer.fields.sort();
        assert_eq!(answer, expected, "{expression}");
    }
}

#[test]
fn errors_have_a_place_and_a_remedy() {
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
        ("req.pth", "test.luau:1: req has no `pth`: it has method, path, query"),
        ("req[{}]", "req has no a table"),
        ("json.decode('{')", "test.luau:1: json: EOF"),
        ("json.decode('1 2')", "test.luau:1: json: trailing"),
        ("json.decode(string.rep('[', 10000))", "test.luau:1: json: recursion"),
        ("json.encode(print)", "test.luau:1: json: a function cannot be written"),
        ("json.encode(0/0)", "test.luau:1: json: NaN cannot be written"),
        ("json.encode({[{}] = 1})", "test.luau:1: json: a table cannot be a name"),
        (
            "(function() local t = {} t.t = t return json.encode(t) end)()",
            "test.luau:1: json: more than 100 tables deep",
        ),
    ] {
        let said = Bench::new(&format!("function on_request(req) return {expression} end")).failure();
        assert!(said.contains(words) && said.starts_with("test.luau"), "{expression}: {said}");
        assert_eq!(said.lines().count(), 1, "{said}");
    }
}

#[test]
fn state_is_kept_per_worker_and_random_numbers_depend_on_all_bits_of_its_seed() {
    let counter =
        "function on_request() state.n = (state.n or 0) + 1 count = (count or 0) + 1 return `{state.n} {count}` end";
    let (mut one, mut other) = (Bench::new(counter), Bench::new(counter));
    assert_eq!([one.body(), one.body(), one.body(), other.body()], ["1 1", "2 2", "3 3", "1 1"]);
    let dice = "function on_request() return `{math.random(1e9)} {math.random()}` end";
    let roll = |seed| Bench::seeded(dice, seed).body();
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
    assert_eq!(text(&respond("json.encode(json.array()) .. json.encode({json.null, 1})")), "[][null,1]");
}

#[test]
fn print_goes_to_the_sink_and_not_to_the_client() {
    let mut bench = Bench::new("print('once') function on_request(req) print('got', req.path, nil) return 'x' end");
    assert_eq!(bench.body(), "x");
    assert_eq!(*bench.said.lock().unwrap(), ["once", "got\t/\tnil"]);
}
