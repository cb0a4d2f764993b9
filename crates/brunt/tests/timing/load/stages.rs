//! Offered rates, and connections, that change, as typed. Figures of steps of a rate are compared with what was due in a simulated
//! world: `tests/sim/http.rs`.

use crate::shared::server::Server;
use crate::shared::target::{Target, json, load, number};
use brunt_testkit::{alone, assert_code, text};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

fn all(steps: &[Value], key: &str) -> Vec<f64> {
    steps.iter().map(|step| step[key].as_f64().unwrap()).collect()
}

#[test]
fn the_page_has_a_line_for_each_step_and_conflicts_are_refused() {
    let _alone = alone();
    let target = Target::start();
    let output = load(&target.url(), "--stages 200@300ms,400@300ms --no-meter --allow-untrusted").output().unwrap();
    assert_code(&output, &[0]);
    assert!(text(&output).contains("offered/s"), "{}", text(&output));
    for (flags, says) in [
        ("--stages 1k@1s -R 1k", "--stages and -R"),
        ("--stages 1k@1s -d 1s", "--stages and -d"),
        ("-R 1k:2k --steady", "--steady"),
        ("-R 1k:2k -n 100", "-n"),
        ("--stages 1k", "5k@1m"),
        ("-R 1k:", "''"),
        ("-R 1k:20M", "at most"),
    ] {
        let output = load(&target.url(), flags).output().unwrap();
        assert_code(&output, &[2]);
        assert!(text(&output).contains(says), "{flags}: {}", text(&output));
    }
}

/// `brunt serve http` with a delay of 20 ms.
fn slow(home: &Path, tls: bool) -> Server {
    let routes = home.join("routes.toml");
    let listener = format!("[[listener]]\nlisten = \"127.0.0.1:0\"\ntls = {tls}\n");
    let route = "[[route]]\npath = \"/\"\ntext = \"late\"\ndelay = \"20ms\"\n";
    std::fs::write(&routes, listener + route).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_brunt"));
    command.args(["serve", "http", "--routes"]).arg(routes);
    Server::start(command)
}

#[test]
fn connections_of_a_closed_loop_change_over_http_and_tls() {
    let _alone = alone();
    for (tls, flags) in [
        (false, "--stages c=4@600ms,c=4:24@1s,c=24@300ms,c=8@600ms"),
        (false, "--stages c=4@600ms,c=4:24@1s,c=24@300ms,c=8@600ms --no-keepalive -t 2"),
        (true, "--stages c=4@600ms,c=4:24@1s,c=24@300ms,c=8@600ms -k -t 2"),
    ] {
        let home = brunt_testkit::home();
        let server = slow(&home, tls);
        let url = format!("http{}://{}/", if tls { "s" } else { "" }, server.address());
        let flags = format!("{flags} --warmup 200ms --no-meter --allow-untrusted --quiet --json -");
        let output = load(&url, &flags).output().unwrap();
        assert_code(&output, &[0]);
        let result = json(&output);
        let steps = result["steps"].as_array().unwrap();
        let connections = all(steps, "connections");
        assert_eq!(connections, [4.0, 5.0, 7.0, 9.0, 11.0, 13.0, 15.0, 17.0, 19.0, 21.0, 23.0, 24.0, 8.0]);
        let (mut served, mut possible) = (0.0, 0.0);
        for (step, (rate, connections)) in steps.iter().zip(all(steps, "rate").iter().zip(&connections)) {
            let length_s = step["end_s"].as_f64().unwrap() - step["start_s"].as_f64().unwrap();
            // A connection answers once in 20 ms at most, and less often where the machine pauses.
            assert!(rate * 0.02 <= 1.15 * connections, "{connections} connections, {rate} per s: {flags}");
            served += rate * 0.02 * length_s;
            possible += connections * length_s;
        }
        assert!(served >= 0.7 * possible, "{served} of {possible}: {flags}");
        assert_eq!(number(&result, "requests.failed"), 0.0, "{result:#}");
        assert!(result["errors"].as_object().unwrap().values().all(|count| count == 0), "{}", result["errors"]);
        assert_eq!((number(&result, "load.connections"), number(&result, "connections.peak")), (24.0, 24.0));
        assert!(result["steps"][0]["offered_rate"].is_null() && result["requests"]["offered_rate"].is_null());
    }
}

#[test]
fn connections_that_rise_are_shown_and_conflicts_are_refused() {
    let _alone = alone();
    let target = Target::start();
    let output = load(&target.url(), "-c 2:12 -d 1s --no-meter --allow-untrusted").output().unwrap();
    assert_code(&output, &[0]);
    let page = text(&output);
    for text in ["up to 12 connections", "  from s  connect.", "      0.0      2.50", "      0.9      11.5"] {
        assert!(page.contains(text), "{text}: {page}");
    }
    assert!(!page.contains("Little"), "{page}");
    for (flags, says) in [
        ("-c 2:12 -R 1k", "-c 2:12 and -R"),
        ("-c 2:12 --stages 1k@1s", "-c 2:12 and stages of a rate"),
        ("--stages c=2@1s,1k@1s", "--stages c=N@TIME and stages of a rate"),
        ("--stages c=2@1s -c 5", "--stages and -c"),
        ("--stages c=2@1s -d 1s", "--stages and -d"),
        ("-c 2:12 --steady", "--steady"),
        ("-c 2:12 -n 100", "-n"),
        ("-c 0:12", "-c 0:12: at least 1 connection"),
        ("-c 2:", "''"),
        ("--stages c=2", "c=10:200@1m"),
        ("--stages c=0@1s", "--stages: at least 1 connection"),
    ] {
        let output = load(&target.url(), flags).output().unwrap();
        assert_code(&output, &[2]);
        assert!(text(&output).contains(says), "{flags}: {}", text(&output));
    }
}
