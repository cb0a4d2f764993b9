//! Offered rates, and connections, that change, as typed. Figures of steps are compared with what was due in a simulated world:
//! `tests/sim/http.rs`, and `connections.rs` of the generator's.

use crate::shared::server::Server;
use crate::shared::target::{Target, json, load, number};
use brunt_testkit::{assert_code, text};
use std::path::Path;
use std::process::Command;

#[test]
fn the_page_has_a_line_for_each_step_and_conflicts_are_refused() {
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
    for (tls, flags) in [(false, "--no-keepalive -t 2"), (true, "-k -t 2")] {
        let home = brunt_testkit::home();
        let server = slow(&home, tls);
        let url = format!("http{}://{}/", if tls { "s" } else { "" }, server.address());
        let flags = format!("--stages c=4@200ms,c=4:24@1s,c=8@200ms {flags} --warmup 0s --no-meter --quiet --json -");
        let output = load(&url, &flags).arg("--allow-untrusted").output().unwrap();
        assert_code(&output, &[0]);
        let result = json(&output);
        let steps = result["steps"].as_array().unwrap();
        let connections: Vec<f64> = steps.iter().map(|step| step["connections"].as_f64().unwrap()).collect();
        assert_eq!(connections, [4.0, 5.0, 7.0, 9.0, 11.0, 13.0, 15.0, 17.0, 19.0, 21.0, 23.0, 8.0]);
        assert_eq!(number(&result, "requests.failed"), 0.0, "{result:#}");
        assert!(result["errors"].as_object().unwrap().values().all(|count| count == 0), "{}", result["errors"]);
        assert!(
            number(&result, "load.connections") == 24.0 && number(&result, "connections.peak") <= 24.0,
            "{result:#}"
        );
        assert!(result["steps"][0]["offered_rate"].is_null() && result["requests"]["offered_rate"].is_null());
    }
}

#[test]
fn connections_that_rise_are_shown_and_conflicts_are_refused() {
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
