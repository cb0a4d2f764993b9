//! The Ctrl-Z test: a target that stands still for a known time in a run at a known rate has quantiles in closed form.
//!
//! With a stall of length S in a window of length D at a constant rate, the share S/D of all requests is intended while
//! the target stands, and such a request waits for what is left of the stall: uniform on (0, S). So for q > 1 - S/D the
//! quantile is S (1 - (1-q) D/S), the median is that of a target that never stood, and the mean is S^2 / 2D. A closed
//! loop, or an open one that forgets what it could not send, shows one slow request for each connection instead.

use super::target::{Running, Target, alone, assert_code, json, load, number, pass, signal, told};
use serde_json::Value;
use std::{
    process::Output,
    time::{Duration, Instant},
};

const RATE: f64 = 1000.0;
const WINDOW_S: f64 = 5.0;
/// How far from theory a time may be, in seconds: after the stall a backlog of a second's requests is to be served, which
/// takes some tens of milliseconds.
const QUIET: f64 = 0.06;
/// The same on a machine that is busy all the time, which only ever makes a time longer.
const BUSY: f64 = 0.4;
/// A run that something else on the machine disturbed is repeated.
const ATTEMPTS: u32 = 5;

/// Between which times the target stood still, in seconds: a shell is started for each signal.
type Stall = (f64, f64);

/// One run with a stall in its midst, and what it said.
fn stalled() -> (Output, Stall) {
    let mut target = Target::start();
    let flags = "-R 1000 -d 5s -c 20 --warmup 500ms --json - --quiet --seed 1";
    let run = Running::start(load(&target.url(), flags));
    target.until_asked();
    pass(Duration::from_millis(2000), "the warm-up ends and the window is well open");
    let before = Instant::now();
    signal(target.pid(), "STOP");
    let stands = Instant::now();
    pass(Duration::from_secs(1), "the stall");
    let least_s = stands.elapsed().as_secs_f64();
    signal(target.pid(), "CONT");
    let most_s = before.elapsed().as_secs_f64();
    let output = run.end();
    assert_code(&output, &[0, 3]);
    (output, (least_s, most_s))
}

/// Whether the times are those of theory, with so much room above; if not, which one is not.
fn agrees(result: &Value, (least_s, most_s): Stall, above_s: f64) -> Result<(), String> {
    let within = |figure: &str, least_s: f64, most_s: f64| {
        let s = number(result, &format!("latency.{figure}_us")) / 1e6;
        let is_within = (least_s..most_s).contains(&s);
        if is_within { Ok(()) } else { Err(format!("{figure} {s} s, not {least_s} to {most_s} s")) }
    };
    let close = |figure: &str, of: &dyn Fn(f64) -> f64| {
        within(&format!("response.{figure}"), of(least_s) - QUIET, of(most_s) + above_s)
    };
    let quantile = |q: f64| move |stall_s: f64| stall_s * (1.0 - (1.0 - q) * WINDOW_S / stall_s);
    close("p90", &quantile(0.9))?;
    close("p99", &quantile(0.99))?;
    close("p999", &quantile(0.999))?;
    close("max", &|stall_s| stall_s)?;
    close("mean", &|stall_s| stall_s * stall_s / (2.0 * WINDOW_S))?;
    within("response.p50", 0.0, above_s)?;
    // That connections are busy is the target's doing and not the generator's.
    within("lag.p99", 0.0, above_s / 2.0)?;
    // The service time forgets what could not be sent: the trap this test is named for.
    within("service.p90", 0.0, above_s)
}

#[test]
fn a_stall_of_a_second_shows_in_every_quantile_as_computed() {
    let _alone = alone();
    let mut attempt = 0;
    let (output, result, (least_s, _)) = loop {
        attempt += 1;
        let (output, stall) = stalled();
        let result = json(&output);
        match agrees(&result, stall, if attempt < ATTEMPTS { QUIET } else { BUSY }) {
            Ok(()) => break (output, result, stall),
            Err(why) if attempt < ATTEMPTS => println!("{why}"),
            Err(why) => panic!("{why}: {}", told(&output)),
        }
    };
    // Nothing was left out: every request that was due is there. One more or less for the edges of the window.
    let due = RATE * WINDOW_S;
    let there = number(&result, "requests.completed") + number(&result, "requests.unanswered");
    assert!((there - due).abs() <= 0.01 * due, "{there}");
    assert!((number(&result, "latency.response.count") - due).abs() <= 0.01 * due);
    assert_eq!(number(&result, "requests.failed"), 0.0);
    // All but the twenty under way found every connection busy ...
    assert!(number(&result, "requests.waited") > 0.9 * RATE * least_s - 20.0, "{}", told(&output));
    // ... for which the verdict does not blame the generator, unless something else on the machine held it up.
    let why = result["verdict"]["why"].to_string();
    assert!(attempt == ATTEMPTS || !why.contains("the generator sent late"), "{why}");
}
