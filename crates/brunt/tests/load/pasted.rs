//! What users paste: URLs, command lines of curl, entries of archives. The files in `pasted/` have each with what brunt makes of
//! it: the requests that a server sees, and what brunt says. `BRUNT_GOLDEN=write` writes them.
//!
//! An entry is the text as pasted, then lines that begin with `=`; a blank line ends it.

use crate::shared::recorder::{Recorder, Request};
use crate::shared::target::load;
use brunt_testkit::golden;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

/// A text as pasted and the lines about it.
struct Entry {
    typed: String,
    answers: Vec<String>,
}

/// Compares a file with what `answers` says of each entry, which gets the lines that the file has, too.
fn check(name: &str, answers: impl Fn(&str, &[String]) -> Vec<String>) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/load/pasted").join(name);
    let text = fs::read_to_string(&path).unwrap();
    let entry = |block: &str| {
        let (answers, typed): (Vec<&str>, Vec<&str>) = block.lines().partition(|line| line.starts_with('='));
        Entry {
            typed: typed.join("\n"),
            answers: answers.into_iter().map(|line| line[1..].trim().to_owned()).collect(),
        }
    };
    let now = text.split("\n\n").map(entry).map(|Entry { typed, answers: before }| {
        let lines = if typed.starts_with("# ") { Vec::new() } else { answers(&typed, &before) };
        let lines: String = lines.iter().map(|line| format!("= {line}\n")).collect();
        format!("{}\n{lines}", typed.trim_end())
    });
    golden(path, &now.collect::<Vec<_>>().join("\n"));
}

/// The line and the fields that matter, without the place of the server.
fn sent(request: &Request, fields: &[&str]) -> String {
    let mut lines = request.head.lines().map(str::trim_end);
    let first = lines.next().unwrap_or_default().trim_end_matches(" HTTP/1.1").to_owned();
    let is_told = |line: &&str| fields.iter().any(|field| line.to_ascii_lowercase().starts_with(field));
    let mut told: Vec<String> = std::iter::once(first).chain(lines.filter(is_told).map(str::to_owned)).collect();
    if !request.body.is_empty() {
        told.push(format!("body {:?}", request.body));
    }
    told.join(" | ")
}

/// The first line of what a program says of what it refuses, with its exit code.
fn refused(output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stderr);
    format!("exit {}: {}", output.status.code().unwrap_or(-1), said.lines().next().unwrap_or_default())
}

/// With the escapes of the file.
fn unescaped(typed: &str) -> String {
    typed.replace("\\t", "\t").replace("\\n", "\n").replace("\\r", "\r")
}

/// The version of curl, if it is on PATH.
fn curl_version() -> Option<String> {
    let output = Command::new("curl").arg("--version").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    Some(text.split_whitespace().take(2).collect::<Vec<_>>().join(" "))
}

/// The answer of curl is of the version that it names, and is compared with that alone.
#[test]
fn urls() {
    const FIELDS: [&str; 2] = ["host:", "authorization:"];
    let server = Recorder::start();
    let version = curl_version();
    let answer = |output: &Output| match &server.take()[..] {
        [request] => sent(request, &FIELDS),
        _ => refused(output),
    };
    check("urls.txt", |typed, before| {
        let url = unescaped(typed);
        let output = load(&url, &format!("--once -T 10s --connect-to {}", server.authority())).output().unwrap();
        let mut lines = vec![format!("brunt: {}", answer(&output))];
        let said = String::from_utf8(output.stdout).unwrap();
        lines.extend(said.lines().filter(|line| line.contains(" is sent as ")).map(|line| format!("--once: {line}")));
        let known = before.iter().find(|line| line.starts_with("curl ")).cloned();
        match &version {
            Some(version) if known.as_ref().is_none_or(|known| known.starts_with(&format!("{version}: "))) => {
                let mut curl = Command::new("curl");
                curl.args(["-sS", "--max-time", "10", "--noproxy", "*", "--proto", "=http,https", "--connect-to"]);
                curl.arg(format!("::{}", server.authority())).arg(&url).env("LC_ALL", "C.UTF-8");
                lines.push(format!("{version}: {}", answer(&curl.output().unwrap())));
            }
            _ => lines.extend(known),
        }
        lines
    });
}

/// The requests of a file that brunt sends, each once, and what it says of them. All go to one server.
fn of_file(server: &Recorder, text: &str) -> Vec<String> {
    let home = brunt_testkit::home();
    fs::write(home.path().join("body.txt"), "from a file").unwrap();
    fs::write(home.path().join("calls"), text).unwrap();
    let flags = "-n 6 -c 1 -T 10s --warmup 0s --no-meter --allow-untrusted --json - --requests calls --connect-to";
    let mut command = load("http://server.example/", &format!("{flags} {}", server.authority()));
    let output = command.current_dir(home.path()).output().unwrap();
    let seen = server.take();
    if seen.is_empty() {
        return vec![refused(&output)];
    }
    let lines: Vec<String> = seen.iter().map(all_of).collect();
    let again = lines.iter().skip(1).position(|line| *line == lines[0]).map_or(lines.len(), |at| at + 1);
    let said = String::from_utf8_lossy(&output.stderr);
    let is_told = |line: &&str| line.starts_with("note: calls: ") && !line.contains(" in memory");
    let notes = said.lines().filter(is_told).map(str::to_owned);
    lines[..again].iter().cloned().chain(notes).collect()
}

/// A request without what all have.
fn all_of(request: &Request) -> String {
    let lines = request.head.lines().map(str::trim_end);
    let is_told = |line: &&str| !line.starts_with("Host: server.example") && !line.starts_with("Content-Length: ");
    let head = lines.filter(is_told).collect::<Vec<_>>().join(" | ");
    let head = head.replacen(" HTTP/1.1", "", 1);
    if request.body.is_empty() { head } else { format!("{head} | body {:?}", request.body) }
}

#[test]
fn curl_lines() {
    let server = Recorder::start();
    check("curl.txt", |typed, _| of_file(&server, typed));
}

/// An entry is followed by one that can be sent; what begins with `{"log"` is an archive of its own.
#[test]
fn archives() {
    let server = Recorder::start();
    let last = r#"{"request": {"method": "GET", "url": "http://server.example/last", "headers": []}, "response": {"status": 200}}"#;
    check("har.txt", |typed, _| {
        let whole = format!(r#"{{"log": {{"version": "1.2", "entries": [{typed}, {last}]}}}}"#);
        of_file(&server, if typed.starts_with(r#"{"log""#) { typed } else { &whole })
    });
}
