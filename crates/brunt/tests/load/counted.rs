//! `-n N` as typed: the server gets N requests, and the result has N.

use crate::shared::recorder::Recorder;
use crate::shared::target::{Target, json, load, number};
use brunt_testkit::{assert_code, home, text};
use std::process::Command;

const USUAL: &str = "--no-meter --allow-untrusted --json - --quiet";
/// Three requests in one text.
const SCRIPT: &str = "local one = nil
    function request() one = one or wrk.format():rep(3) return one end";

#[test]
fn the_server_gets_so_many_requests_and_the_result_has_as_many() {
    let server = Recorder::start();
    let home = home();
    let script = home.join("three.lua");
    std::fs::write(&script, SCRIPT).unwrap();
    let scripted = format!("-n 10 -c 2 --script {}", script.display());
    let cases = [
        ("-n 1", 1),
        ("-n 5 -c 10", 5),
        ("-n 4", 4),
        ("-n 20 -c 3 -t 2 -R 200", 20),
        ("-n 7 -R 100 --arrival poisson -t 2", 7),
        ("-n 10 -c 2 --pipeline 4", 10),
        ("-n 10 -c 2 --pipeline 4 -R 200", 10),
        ("-n 3 -c 2 --no-keepalive", 3),
        (&scripted, 10),
    ];
    for (flags, count) in cases {
        let output = load(&server.url(), &format!("{flags} {USUAL}")).output().unwrap();
        assert_code(&output, &[0]);
        assert_eq!(server.take().len(), count, "{flags}");
        let result = json(&output);
        let figures = ["requests.completed", "requests.unanswered", "latency.response.count", "load.warmup_s"];
        let figures = figures.map(|figure| number(&result, figure));
        assert_eq!(figures, [count as f64, 0.0, count as f64, 0.0], "{flags}: {}", text(&output));
    }
}

#[test]
fn as_another_tester_too() {
    let server = Recorder::start();
    let asked = ["ab -q -n 100 -c 10", "fortio load -n 30 -c 4 -qps 300", "fortio load -n 30 -c 4 -qps 0"];
    for (line, count) in asked.into_iter().zip([100, 30, 30]) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_brunt"));
        let output = command.arg("as").args(line.split(' ')).arg(server.url()).output().unwrap();
        assert!(!text(&output).contains("panicked"), "{}", text(&output));
        assert_eq!(server.take().len(), count, "{line}: {}", text(&output));
    }
}

/// The rate is what was asked for, not a request more in the time between the first and the last.
#[test]
fn a_rate_is_never_exceeded_by_the_last_request() {
    let server = Recorder::start();
    let output = load(&server.url(), &format!("-n 20 -R 40 {USUAL}")).output().unwrap();
    let result = json(&output);
    let rate = number(&result, "requests.rate");
    assert!(rate <= 40.0, "{rate}");
    assert!(number(&result, "load.measured_s") >= 0.5, "{}", text(&output));
}

#[test]
fn a_time_that_ends_before_the_requests_do_is_noted() {
    let target = Target::start_web();
    let url = target.http("/");
    let noted = |flags: &str| {
        let output = load(&url, &format!("{flags} --warmup 0s --no-meter --allow-untrusted")).output().unwrap();
        String::from_utf8_lossy(&output.stderr).contains("-d ended the load after ")
    };
    assert!(noted("-n 1000000000 -d 50ms") && !noted("-n 20"));
}

/// Nothing is said of what a window used that is too short to read its accounts.
#[test]
fn a_window_of_few_requests_has_no_figures_of_resources() {
    let target = Target::start_web();
    let output = load(&target.http("/"), "-n 20 -c 1 --allow-untrusted --json -").output().unwrap();
    let result = json(&output);
    // A machine that stops for a while makes it long.
    if number(&result, "load.measured_s") > 0.02 {
        return;
    }
    for (part, figures) in [
        ("server", &["cpu_us_per_request", "voluntary_switches", "minor_faults", "network_received_bytes"][..]),
        ("host", &["cpu_percent", "cores", "loopback_bytes", "retransmitted_segments", "pressure_cpu_percent"]),
        ("generator", &["run_queue_wait_percent", "voluntary_switches", "minor_faults"]),
    ] {
        let present = figures.iter().filter(|figure| !result[part][**figure].is_null()).collect::<Vec<_>>();
        assert!(present.is_empty(), "{part}: {present:?} {result:#}");
    }
    assert!(number(&result, "server.rss_bytes") > 0.0 && number(&result, "generator.cpu_percent") > 0.0);
    let page = text(&load(&target.http("/"), "-n 20 -c 1 --allow-untrusted").output().unwrap());
    assert!(page.matches("the kernel accounts every").count() <= 1, "{page}");
}
