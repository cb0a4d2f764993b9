//! The Ctrl-Z test: a target that stands still for a known time in a run at a known rate has quantiles in closed form.
//!
//! With a stall of length S in a window of length D at a constant rate, the share S/D of all requests is intended while
//! the target stands, and such a request waits for what is left of the stall: uniform on (0, S). So for q > 1 - S/D the
//! quantile is S (1 - (1-q) D/S), the median is that of a target that never stood, and the mean is S^2 / 2D. A closed
//! loop, or an open one that forgets what it could not send, shows one slow request for each connection instead.

use super::target::{Running, Target, alone, assert_code, json, load, number, pass, signal, told};
use std::time::{Duration, Instant};

#[test]
fn a_stall_of_a_second_shows_in_every_quantile_as_computed() {
    let _alone = alone();
    let target = Target::start();
    let (rate, window_s) = (1000.0, 5.0);
    let flags = "-R 1000 -d 5s -c 20 --warmup 500ms --json - --quiet --seed 1";
    let run = Running::start(load(&target.url(), flags));
    pass(Duration::from_millis(2500), "the warm-up ends and the window is well open");
    let stopped = Instant::now();
    signal(target.pid(), "STOP");
    pass(Duration::from_secs(1), "the stall");
    signal(target.pid(), "CONT");
    let stall_s = stopped.elapsed().as_secs_f64();
    let output = run.end();
    assert_code(&output, &[0, 3]);
    let result = json(&output);

    // The clocks of the stall are read around two forked shells, and afterwards a backlog of R S requests is to be
    // served: together some tens of milliseconds.
    let bound_us = 60e3;
    let close = |figure: &str, expected_s: f64| {
        let us = number(&result, &format!("latency.response.{figure}_us"));
        assert!(
            (us - expected_s * 1e6).abs() < bound_us,
            "{figure} {us} us, expected {expected_s} s: {}",
            told(&output)
        );
    };
    let hit = stall_s / window_s;
    let quantile = |q: f64| stall_s * (1.0 - (1.0 - q) / hit);
    close("p90", quantile(0.9));
    close("p99", quantile(0.99));
    close("p999", quantile(0.999));
    close("max", stall_s);
    close("mean", stall_s * stall_s / (2.0 * window_s));
    assert!(number(&result, "latency.response.p50_us") < 20e3, "{}", told(&output));

    // Nothing was left out: every request that was due was answered. One more or less for the edges of the window.
    let completed = number(&result, "requests.completed");
    assert!((completed - rate * window_s).abs() <= 0.01 * rate * window_s, "{completed}");
    assert!((number(&result, "latency.response.count") - rate * window_s).abs() <= 0.01 * rate * window_s);
    assert_eq!(number(&result, "requests.failed"), 0.0);
    // All but the twenty under way found every connection busy ...
    assert!(number(&result, "requests.waited") > 0.9 * rate * stall_s - 20.0, "{}", told(&output));
    // ... which is the target's doing and not the generator's.
    assert!(number(&result, "latency.lag.p99_us") < 20e3, "{}", told(&output));
    let why = result["verdict"]["why"].to_string();
    assert!(!why.contains("the generator sent late"), "{why}");
    // The service time forgets what could not be sent: the trap this test is named for.
    assert!(number(&result, "latency.service.p90_us") < 100e3, "{}", told(&output));
}
