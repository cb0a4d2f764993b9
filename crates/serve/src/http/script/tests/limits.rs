//! Scripts that fail or exceed their limits.

use super::Bench;
use crate::http::script::{Kind, LIMITS, Script};

/// Runs `bad` in the first call; the second must succeed. Returns the logged error.
fn recovers(bad: &str) -> String {
    let mut bench = Bench::new(&format!(
        "local first = true
        function on_request(req)
            if first then
                first = false
                {bad}
            end
            return 'alive'
        end"
    ));
    let said = bench.failure();
    assert_eq!(bench.body(), "alive", "after {bad}");
    assert_eq!(bench.script.errors(), 1);
    said
}

/// Texts of which the error contains one, and scripts that fail with it.
const FAILING: &[(&[&str], &[&str])] = &[
    (
        &["ran longer than the 10ms a call may take"],
        &[
            "while true do end",
            "repeat until false",
            "local function f(n) return f(n) end pcall(f) while true do end",
            "while true do pcall(function() while true do end end) end",
            "local function f() while true do pcall(f) end end f()",
            "xpcall(function() while true do end end, function() while true do end end) while true do end",
            "local c = coroutine.wrap(function() while true do coroutine.yield() end end) while true do c() end",
            "coroutine.wrap(function() while true do end end)()",
            "for k, v in function() return 1 end do end",
            "local t = setmetatable({}, {__index = function(t, k) return t[k + 1] end}) while true do pcall(function() return t[1] end) end",
            "local s = string.rep('a', 30) .. 'b' string.find(s, string.rep('a?', 30) .. string.rep('a', 30) .. 'c')  while true do end",
            "table.sort(table.create(100000, 1), function() while true do end end)",
        ],
    ),
    (
        &["16 MiB of memory", "ran longer", "overflow", "too large"],
        &[
            "local s = 'x' while true do s = s .. s end",
            "local t = {} while true do t[#t + 1] = {} end",
            "return string.rep('x', 1e9)",
            "return table.create(1e8, 1)",
            "buffer.create(1e9)",
            "return table.concat(table.create(10000, string.rep('x', 10000)))",
        ],
    ),
    (&["stack overflow", "ran longer", "memory"], &["local function f(n) return 1 + f(n + 1) end f(1)"]),
    (
        &["test.luau"],
        &[
            "local t = {} for i = 1, 1e9 do t[i] = 'a' .. i end",
            "local t = setmetatable({}, {}) getmetatable(t).__index = function(t, k) return t[k] end return t.x",
            "return tostring(setmetatable({}, {__tostring = function(t) return tostring(t) end}))",
            "error({code = 1})",
            "error(nil)",
            "coroutine.yield()",
        ],
    ),
    (&["more than a million elements"], &["table.move({}, 1, 2^31 - 1, 1, {})"]),
    (&["test.luau:5: no"], &["error('no')"]),
    (&["a"], &["error('a\\nb\\27[2J')"]),
    (&["attempt to index nil"], &["local x = nil; x.y = 1", "state.x.y = 1"]),
    (&["readonly"], &["math.floor = 1", "json.encode = 1"]),
    (&["returned a function"], &["return string.rep"]),
];

#[test]
fn a_failing_call_is_logged_in_one_line_with_its_place_and_the_next_one_succeeds() {
    for (words, scripts) in FAILING {
        for bad in *scripts {
            let said = recovers(bad);
            assert!(said.starts_with("test.luau") && words.iter().any(|word| said.contains(word)), "{bad}: {said}");
            assert!(said.lines().count() == 1 && !said.contains('\u{1b}'), "{bad}: {said:?}");
        }
    }
    let mut bench = Bench::new("function on_request()\n  local n = 0\n  while true do\n    n += 1\n  end\nend");
    let said = bench.failure();
    assert!(said.starts_with("test.luau:3: ran") || said.starts_with("test.luau:4: ran"), "{said}");
}

#[test]
fn scripts_cannot_reach_the_system_and_may_repeat_empty_texts() {
    const NAMES: &str = "io os.execute os.remove os.getenv require dofile loadfile package ffi debug.getregistry";
    for name in NAMES.split(' ') {
        assert_eq!(Bench::new(&format!("function on_request() return tostring({name}) end")).body(), "nil", "{name}");
    }
    assert_eq!(Bench::new("function on_request() return #string.rep('', 2^31 - 1) .. '' end").body(), "0");
}

#[test]
fn an_invalid_script_is_refused_at_start() {
    for (text, kind, words) in [
        ("function on_request( return end", Kind::Script, "a.luau:1: "),
        ("x = 1", Kind::Script, "there is no on_request"),
        ("on_request = 'hi'", Kind::Script, "on_request is a string: make it a function"),
        ("local x = nil + 1", Kind::Error, "a.luau:1: attempt to perform arithmetic"),
        ("\n\nerror('bad table')", Kind::Error, "a.luau:3: bad table"),
        ("while true do end", Kind::Time, "ran longer than the 1s"),
        ("local s = 'x' while true do s = s .. s end", Kind::Memory, "16 MiB of memory"),
        ("\u{1b}Lua", Kind::Script, "a.luau:1: "),
    ] {
        let fault = Script::compile("a.luau", text, LIMITS, |_| ()).unwrap_err();
        assert_eq!(fault.kind, kind, "{fault}");
        assert!(fault.to_string().contains(words) && fault.to_string().lines().count() == 1, "{text}: {fault}");
    }
    let missing = Script::open(std::path::Path::new("/nowhere/a.luau"), LIMITS, |_| ()).unwrap_err();
    assert!(missing.to_string().contains("/nowhere/a.luau (No such file"), "{missing}");
}

#[test]
fn errors_are_counted_and_logged() {
    let mut bench = Bench::new("function on_request(req) if req.path == '/' then error('x') end return 'y' end");
    bench.ask("GET /a HTTP/1.1\r\nHost: a\r\n\r\n");
    for _ in 0..10 {
        bench.get();
    }
    // How many lines they make, a test of the log shows.
    assert_eq!(bench.script.errors(), 10);
    assert!(!bench.said.lock().unwrap().is_empty());
}
