//! Compares other parsers on the table of [`crate::cases`]: hyper in this process; Go's net/http, Python's h11 and Node's
//! llhttp as programs, if named by `BRUNT_PARSERS=go,h11,node`, because the results depend on the installed version.
//!
//! [`differences::ALL`] lists the differences with reasons. Fails for a difference that is not listed and for an entry that is
//! not a difference.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::env;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use brunt_wire::http1::Limits;
use http_body_util::{BodyExt, Empty};
use hyper::{Request, Response, body::Bytes, body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use proptest::prelude::*;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::cases::ALL;
use crate::common::{Verdict, config, serve, verdict};
use crate::differences;
use crate::splits::fragments;

/// A verdict of another parser, without statuses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OtherVerdict {
    Accepts,
    AcceptsOthers,
    Rejects,
    Waits,
}

fn compare(parser: &str, verdicts: &[Verdict]) {
    assert_eq!(verdicts.len(), ALL.len(), "{parser} needs a verdict on each case");
    let mut found = BTreeMap::new();
    for (case, theirs) in ALL.iter().zip(verdicts) {
        let ours = case.expected.verdict();
        let same = match (&ours, theirs) {
            (Verdict::Rejects(_), Verdict::Rejects(_)) => true,
            (ours, theirs) => ours == theirs,
        };
        if !same {
            let kind = match (ours, theirs) {
                (_, Verdict::Rejects(_)) => OtherVerdict::Rejects,
                (_, Verdict::Waits) => OtherVerdict::Waits,
                (Verdict::Accepts(_), Verdict::Accepts(_)) => OtherVerdict::AcceptsOthers,
                (_, Verdict::Accepts(_)) => OtherVerdict::Accepts,
            };
            found.insert(case.name, kind);
        }
    }
    let known: BTreeMap<_, _> = differences::ALL
        .iter()
        .flat_map(|difference| difference.cases)
        .flat_map(|(case, theirs)| theirs.iter().map(move |(name, kind)| (*name, *case, *kind)))
        .filter(|(name, ..)| *name == parser)
        .map(|(_, case, kind)| (case, kind))
        .collect();
    assert!(differences::ALL.iter().all(|difference| !difference.why.is_empty()));
    if found != known {
        let mut text = String::new();
        for (case, kind) in found.iter().filter(|(case, kind)| known.get(*case) != Some(kind)) {
            let _ = writeln!(text, "not in the table: {case}, {parser} {kind:?}");
        }
        for (case, kind) in known.iter().filter(|(case, kind)| found.get(*case) != Some(kind)) {
            let _ = writeln!(text, "no difference: {parser}, {case}, {kind:?}");
        }
        panic!("{text}");
    }
}

#[test]
fn hyper_agrees_except_for_known_differences() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let verdicts: Vec<Verdict> = ALL.iter().map(|case| runtime.block_on(hyper(case.bytes))).collect();
    compare("hyper", &verdicts);
}

proptest! {
    #![proptest_config(config(1000))]

    #[test]
    fn hyper_accepts_what_this_parser_accepts(bytes in fragments()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let ours = verdict(&serve(&[&bytes], &Limits::default()));
        // Rejected by hyper only: see the table.
        let is_later = bytes.windows(8).any(|at| at == b"HTTP/1.2");
        if matches!(ours, Verdict::Accepts(_)) && !is_later {
            prop_assert_eq!(runtime.block_on(hyper(&bytes)), ours);
        }
    }
}

/// The requests that the service receives.
#[derive(Debug, Default)]
struct Received {
    bodies: Vec<Vec<u8>>,
    open: bool,
    rejected: bool,
}

/// The verdict of a hyper server in memory on the bytes and the end of input.
async fn hyper(bytes: &[u8]) -> Verdict {
    let (mut client, server) = tokio::io::duplex(1 << 16);
    let received: Arc<Mutex<Received>> = Arc::default();
    let notes = Arc::clone(&received);
    let service = service_fn(move |request: Request<Incoming>| {
        let notes = Arc::clone(&notes);
        async move {
            let body = request.into_body().collect().await;
            let mut notes = notes.lock().unwrap();
            match body {
                Ok(body) => notes.bodies.push(body.to_bytes().to_vec()),
                Err(error) if error.is_incomplete_message() => notes.open = true,
                // A truncated chunked body is reported as an I/O error, "unexpected EOF".
                Err(error) if format!("{error:?}").contains("UnexpectedEof") => notes.open = true,
                Err(_) => notes.rejected = true,
            }
            Ok::<_, Infallible>(Response::new(Empty::<Bytes>::new()))
        }
    });
    let connection = http1::Builder::new().half_close(true).serve_connection(TokioIo::new(server), service);
    let mut answer = Vec::new();
    let send = async {
        client.write_all(bytes).await.unwrap();
        client.shutdown().await.unwrap();
        let _ = client.read_to_end(&mut answer).await;
    };
    let both = async { tokio::join!(connection, send) };
    let (result, ()) = tokio::time::timeout(Duration::from_secs(120), both).await.expect("hyper ends");
    let Received { bodies, open, rejected } = std::mem::take(&mut *received.lock().unwrap());
    let rejected = rejected || result.is_err_and(|error| error.is_parse()) || is_error_response(&answer);
    match (rejected, open || bodies.is_empty()) {
        (true, _) => Verdict::Rejects(400),
        (false, true) => Verdict::Waits,
        (false, false) => Verdict::Accepts(bodies),
    }
}

fn is_error_response(answer: &[u8]) -> bool {
    answer.windows(10).any(|at| at.starts_with(b"HTTP/1.") && matches!(at[9], b'4' | b'5'))
}

#[test]
fn net_http_agrees_except_for_known_differences() {
    program("go", &["go", "run"], "net_http.go");
}

#[test]
fn h11_agrees_except_for_known_differences() {
    program("h11", &["python3"], "h11_parser.py");
}

#[test]
fn llhttp_agrees_except_for_known_differences() {
    program("node", &["node"], "node_http.js");
}

/// Runs a parser that is a program, if `BRUNT_PARSERS` names it.
fn program(parser: &str, command: &[&str], script: &str) {
    if !env::var("BRUNT_PARSERS").is_ok_and(|names| names.split(',').any(|name| name == parser)) {
        eprintln!("BRUNT_PARSERS does not name {parser}: not compared");
        return;
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/http1/parsers").join(script);
    let probe = match parser {
        // Versions before 0.16 accept any two bytes as the end of a chunk (GHSA-vqfr-h8mv-ghfj).
        "h11" => Command::new("python3")
            .args(["-c", "import h11; assert tuple(map(int, h11.__version__.split('.'))) >= (0, 16)"])
            .output(),
        "go" => Command::new("go").arg("version").output(),
        other => Command::new(other).arg("--version").output(),
    };
    assert!(probe.is_ok_and(|probe| probe.status.success()), "{parser} is not installed, or too old");
    let mut child = Command::new(command[0])
        .args(&command[1..])
        .arg(script)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = String::new();
    for case in ALL {
        for byte in case.bytes {
            let _ = write!(lines, "{byte:02x}");
        }
        lines.push('\n');
    }
    child.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{parser} failed");
    let verdicts: Vec<Verdict> = String::from_utf8(output.stdout).unwrap().lines().map(read_verdict).collect();
    compare(parser, &verdicts);
}

fn read_verdict(line: &str) -> Verdict {
    match line.split_once(' ').unwrap_or((line, "")) {
        ("T", bodies) => Verdict::Accepts(bodies.split(',').map(unhex).collect()),
        ("R", _) => Verdict::Rejects(400),
        ("W", _) => Verdict::Waits,
        _ => panic!("{line}: not a verdict"),
    }
}

fn unhex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}
