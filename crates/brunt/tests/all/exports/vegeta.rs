//! Keys and units of `vegeta report -type=json`; parsed by vegeta's own types and printed by its reporter. And targets, which
//! vegeta reads and writes.

use super::scene::{PRECISION, Scene, assert_near, mean_s, quantile_s};
use crate::shared::consumers::{lacks, runs};
use crate::shared::recorder::{Recorder, Request};
use serde_json::json;
use std::collections::BTreeSet;
use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};

/// Parses a Go duration to seconds.
fn seconds(text: &str) -> f64 {
    let (number, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap());
    let unit = match unit {
        "ns" => 1e-9,
        "\u{b5}s" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        other => panic!("{other} in {text}"),
    };
    number.parse::<f64>().unwrap() * unit
}

#[test]
fn vegeta_reads_every_figure() {
    // Built by `go build` in the folder `vegeta` beside this file. Fails without input.
    if lacks("vegeta", runs("sh", &["-c", "command -v vegeta-report"])) {
        return;
    }
    let scene = Scene::new();
    scene.brunt(&["export", "--to", "vegeta", "http", "--out", "report.json"]);
    let report = File::open(scene.home.path().join("report.json")).unwrap();
    let output = Command::new("vegeta-report").stdin(Stdio::from(report)).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let page = String::from_utf8(output.stdout).unwrap();
    let rows: Vec<(&str, Vec<&str>)> = page
        .lines()
        .filter_map(|line| line.split_once(']'))
        .map(|(name, values)| {
            (name.split(' ').next().unwrap(), values.split([',', ' ']).filter(|v| !v.is_empty()).collect())
        })
        .collect();
    let row = |name: &str| &rows.iter().find(|(row, _)| *row == name).unwrap_or_else(|| panic!("{name}: {page}")).1;
    assert_eq!(*row("Requests"), ["20000", "2000.00", "1950.00"]);
    assert_eq!(*row("Duration"), ["10s", "10s", "0s"]);
    assert_eq!((&row("Success")[..], &row("Status")[..]), (&["97.50%"][..], &["0:200", "200:19500", "503:300"][..]));
    for (found, share) in row("Latencies")[2..].iter().zip([0.5, 0.9, 0.95, 0.99, 1.0]) {
        assert_near(seconds(found), quantile_s(share), PRECISION);
    }
    assert_near(seconds(row("Latencies")[1]), mean_s(), PRECISION);
    assert!(page.ends_with("Error Set:\ntimeout\nstatus\n"), "{page}");
}

#[test]
fn every_key_of_a_report_is_there_in_nanoseconds() {
    let scene = Scene::new();
    let report = scene.json(&["export", "--to", "vegeta", "http"]);
    let latencies = &report["latencies"];
    for (name, share) in [("50th", 0.5), ("90th", 0.9), ("95th", 0.95), ("99th", 0.99), ("max", 1.0)] {
        // Go's durations are integers; fractions are rejected.
        assert_near(latencies[name].as_u64().unwrap() as f64, quantile_s(share) * 1e9, PRECISION);
    }
    assert_near(latencies["mean"].as_u64().unwrap() as f64, mean_s() * 1e9, PRECISION);
    assert_near(latencies["total"].as_u64().unwrap() as f64, mean_s() * 20_000.0 * 1e9, PRECISION);
    assert_eq!(
        (&report["earliest"], &report["latest"]),
        (&"2026-01-31T08:05:10Z".into(), &"2026-01-31T08:05:20Z".into())
    );
    assert_eq!((&report["duration"], &report["requests"]), (&10_000_000_000u64.into(), &20_000.into()));
    assert_eq!((&report["rate"], &report["throughput"]), (&2000.0.into(), &1950.0.into()));
    assert_eq!((&report["success"], &report["errors"]), (&0.975.into(), &json!(["timeout", "status"])));
    assert_eq!(report["status_codes"], json!({"200": 19_500, "503": 300, "0": 200}));
    assert_eq!(report["bytes_in"], json!({"total": 3_000_000, "mean": 150.0}));
    assert!(report["wait"].is_null() && report["end"].is_null());
}

/// What a server sees of the first requests of a file.
fn seen(server: &Recorder, file: &Path, count: usize) -> Vec<(String, BTreeSet<String>, String)> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_brunt"));
    command.args(["load", "--requests"]).arg(file).args(["-c", "1", "-n", &count.to_string()]);
    let output = command.args(["--warmup", "0s", "--no-meter", "--allow-untrusted", "--quiet"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut all = server.take();
    all.sort_by_key(|request| request.at);
    let parts = |request: &Request| {
        let mut lines = request.head.lines().map(str::to_owned);
        (lines.next().unwrap(), lines.collect(), request.body.clone())
    };
    all.iter().take(count).map(parts).collect()
}

#[test]
fn targets_are_read_as_vegeta_reads_them() {
    if lacks("vegeta", runs("sh", &["-c", "command -v vegeta-report"])) {
        return;
    }
    let (server, home) = (Recorder::start(), brunt_testkit::home());
    let body = home.path().join("body");
    std::fs::write(&body, "h\u{e9}\r\n\0z").unwrap();
    let text = format!(
        "# all\nGET {url}a?b=c\nX-A: 1\nX-a:  two words\n\nPOST {url}b\nContent-Type: text/plain\n@{body}\n\nHEAD {url}\nDELETE http://{host}/d%20e\nX-B: :\n",
        url = server.url(),
        host = server.authority(),
        body = body.display()
    );
    let of_vegeta = |format: &str, input: &Path| {
        let output = Command::new("vegeta-report").arg(format).stdin(File::open(input).unwrap()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        output.stdout
    };
    let [list, json, again] = ["list", "json", "again"].map(|name| home.path().join(name));
    std::fs::write(&list, text).unwrap();
    // vegeta reads the text and writes JSON, reads that and writes it again.
    std::fs::write(&json, of_vegeta("http", &list)).unwrap();
    std::fs::write(&again, of_vegeta("json", &json)).unwrap();
    let requests = seen(&server, &list, 4);
    assert_eq!(requests[1].2, "h\u{e9}\r\n\0z");
    assert_eq!(requests[3].0, "DELETE /d%20e HTTP/1.1");
    let lower = |requests: Vec<(String, BTreeSet<String>, String)>| {
        let fields =
            |fields: BTreeSet<String>| fields.iter().map(|field| field.to_lowercase()).collect::<BTreeSet<_>>();
        requests.into_iter().map(|(line, all, body)| (line, fields(all), body)).collect::<Vec<_>>()
    };
    let requests = lower(requests);
    assert_eq!(lower(seen(&server, &json, 4)), requests);
    assert_eq!(lower(seen(&server, &again, 4)), requests);
}
