//! wrk scripts, run as by a load thread, without a connection.

mod limits;
mod scripts;

use super::{Facts, LIMITS, Limits, Program, Wrk};
use crate::http::source::{Batch, Source};
use std::path::Path;

/// The facts of `brunt load http://localhost:8080/path?q -- one`.
pub fn facts(arguments: &[&str]) -> Facts {
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
pub fn file(name: &str, arguments: &[&str], threads: usize) -> Wrk {
    let directory = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/wrk"));
    Wrk::open(&directory.join(name), facts(arguments), threads).unwrap()
}

/// A script given as text.
pub fn with(text: &str, facts: Facts, limits: Limits, threads: usize) -> Result<Wrk, brunt_luau::ScriptError> {
    let (name, text) = ("test.lua".to_owned(), text.to_owned());
    Wrk::new(Program { name, directory: "".into(), text, facts, limits }, threads)
}

/// The same with small limits.
pub fn text(text: &str) -> Result<Wrk, brunt_luau::ScriptError> {
    let hundredth = std::time::Duration::from_millis(10);
    let limits = Limits { memory: 16 << 20, start: hundredth * 5, call: hundredth };
    assert!(limits.memory < LIMITS.memory);
    with(text, facts(&[]), limits, 1)
}

/// The source of thread 0, or the error at its start.
pub fn source(script: &str) -> Result<Box<dyn Source>, String> {
    text(script).map_err(|error| error.to_string())?.script().source(0)
}

pub fn next(source: &mut Box<dyn Source>) -> (String, Batch) {
    let mut out = Vec::new();
    let batch = source.next(&mut out).unwrap();
    (String::from_utf8(out).unwrap(), batch)
}

/// The lines of a request, with its fields sorted: tables have no order.
pub fn lines(text: &str) -> Vec<String> {
    let (head, body) = text.split_once("\r\n\r\n").expect("a whole head");
    let mut lines: Vec<String> = head.split("\r\n").map(str::to_owned).collect();
    lines[1..].sort();
    lines.push(body.to_owned());
    lines
}
