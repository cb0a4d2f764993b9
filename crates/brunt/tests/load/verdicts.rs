//! Verdicts of real runs, provoked by matching situations, and doubts as they are told; `docs/reference/verdicts.md` lists the
//! others.
//!
//! A busy machine adds issues, so each test looks for its own issue among them; no test expects none.

use crate::shared::target::{Target, json, load};
use brunt_testkit::{Running, Signal, assert_code, listener, text};
use serde_json::Value;
use std::io::{Read, Write};
use std::process::{Output, Stdio};
use std::thread;

/// The sentences of a verdict, with its name.
fn verdict(output: &Output) -> (String, String) {
    let is_errors = json(output)["verdict"]["kind"] == "errors";
    assert_code(output, if is_errors { &[1] } else { &[3] });
    let verdict: Value = json(output)["verdict"].clone();
    assert_eq!(verdict["why"].as_array().unwrap().len(), verdict["remedy"].as_array().unwrap().len());
    (verdict["kind"].as_str().unwrap().to_owned(), verdict["why"].to_string())
}

fn run(url: &str, flags: &str) -> Output {
    load(url, &format!("{flags} --json - --quiet --seed 1")).output().unwrap()
}

#[test]
fn errors_of_a_server_that_answers_with_500() {
    let target = Target::start_web();
    let (kind, why) = verdict(&run(&target.http("/status/500"), "-n 50 -c 2 --warmup 0s"));
    assert!(kind == "errors" && why.contains("50 of 50 requests failed (50 status)"), "{kind}: {why}");
    assert!(why.contains("the first status: 500 with a body of 15 B, 'GET /status/500' instead of 200-399"), "{why}");
    let good = json(&run(&target.http("/"), "-n 50 -c 2 --warmup 0s"));
    assert!(!good["verdict"]["kinds"].to_string().contains("errors"), "{good:#}");
}

#[test]
fn errors_of_a_port_with_tls_name_the_scheme() {
    let listener = listener();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut request = [0; 512];
            let _ = stream.read(&mut request);
            // A fatal alert: unexpected_message.
            let _ = stream.write_all(&[21, 3, 3, 0, 2, 2, 10]);
        }
    });
    let output = run(&url, "-n 10 -c 2 -d 2s --warmup 0s --no-meter");
    let (_, why) = verdict(&output);
    assert!(why.contains("the first protocol error: a TLS record, '"), "{why}");
    assert_eq!(json(&output)["verdict"]["remedy"][0], "the target speaks TLS: use https://");
}

#[test]
fn errors_of_bodies_that_are_not_the_required_ones_show_the_first() {
    let target = Target::start_web();
    let output = run(&target.http("/found"), "-n 50 -c 2 --warmup 0s --no-meter --expect-body lost");
    let (_, why) = verdict(&output);
    assert!(why.contains("50 of 50 requests failed (50 mismatch)"), "{why}");
    assert!(why.contains("the first mismatch: a body of 10 B, 'GET /found' instead of one with 'lost'"), "{why}");
}

#[test]
fn too_few_samples_of_a_run_that_ends_before_its_p99_is_known() {
    let target = Target::start();
    let (_, why) = verdict(&run(&target.url(), "-R 500 -d 1s --warmup 0s"));
    assert!(why.contains("p99 needs 1000 requests, 500 were recorded"), "{why}");
}

/// Their number is what was asked for: a note, and no doubt.
#[test]
fn few_requests_that_were_asked_for_are_no_doubt() {
    let target = Target::start();
    for (number, says) in [(500, true), (1500, false)] {
        let output = load(&target.url(), &format!("-n {number} --no-meter --json -")).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).contains("note: p99 needs 1000 requests, 500 were recorded");
        assert_eq!(said, says, "{number}: {}", text(&output));
        let verdict = json(&output)["verdict"].clone();
        assert!(!verdict["kinds"].to_string().contains("too-few-samples"), "{verdict}");
    }
}

/// Lines of stderr about doubts of this kind.
fn doubts(stderr: &str, kind: &str) -> usize {
    stderr
        .lines()
        .filter(|line| line.starts_with("verdict so far, after ") && line.contains(&format!(" s: {kind}: ")))
        .count()
}

#[test]
fn a_doubt_is_told_of_when_it_arises_and_once() {
    let target = Target::start();
    // An echo is no reply.
    let flags = "-d 10m -c 1 --warmup 0s --no-meter";
    let mut command = load(&target.http("/"), flags);
    let mut running = Running::start(command.stdout(Stdio::null()).stderr(Stdio::piped()));
    let mut said = String::new();
    while doubts(&said, "errors") == 0 {
        said += &(running.line().unwrap_or_else(|| panic!("the load ended first: {said}")) + "\n");
    }
    running.signal(Signal::INT);
    said.extend(std::iter::from_fn(|| running.line()).map(|line| line + "\n"));
    assert_eq!((doubts(&said, "errors"), running.end().code()), (1, Some(1)), "{said}");

    let quiet = load(&target.http("/"), "-d 1200ms -c 1 --warmup 0s --no-meter --quiet").output().unwrap();
    assert_code(&quiet, &[1]);
    let said = String::from_utf8_lossy(&quiet.stderr);
    assert!(said.starts_with("error: ") && said.lines().count() == 1, "{said}");
}
