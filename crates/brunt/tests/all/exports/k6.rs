//! A third-party k6 reporter renders the file.

use super::scene::{PRECISION, Scene, assert_near, mean_s, quantile_s};
use crate::shared::consumers::{lacks, runs};
use std::{fs, process::Command};

#[test]
fn a_reporter_of_k6_shows_every_metric() {
    // `npm install k6-html-reporter`, found through NODE_PATH.
    if lacks("k6", runs("node", &["-e", "require('k6-html-reporter')"])) {
        return;
    }
    let scene = Scene::new();
    scene.brunt(&["export", "--to", "k6", "http", "--out", "summary.json"]);
    let script = "require('k6-html-reporter').generateSummaryReport({jsonFile: 'summary.json', output: 'page'})";
    let output = Command::new("node").current_dir(scene.home.path()).args(["-e", script]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let page = fs::read_to_string(scene.home.path().join("page/report.html")).unwrap();
    let words: Vec<&str> = page.split(['<', '>']).map(str::trim).collect();
    let p95 = format!(
        "{:.2} ms",
        scene.json(&["export", "--to", "k6", "http"])["metrics"]["http_req_duration"]["p(95)"].as_f64().unwrap()
    );
    for word in
        ["http_reqs", "20000", "2000", "http_req_failed", "0.025", "http_req_duration", &p95, "vus", "data_sent"]
    {
        assert!(words.contains(&word), "{word} is not in {page}");
    }
}

#[test]
fn both_formats_agree_in_milliseconds() {
    let scene = Scene::new();
    let metrics = scene.json(&["export", "--to", "k6", "http"])["metrics"].clone();
    for of in [&metrics["http_req_duration"], &metrics["http_req_duration"]["values"], &metrics["iteration_duration"]] {
        for (name, share) in [("med", 0.5), ("p(90)", 0.9), ("p(95)", 0.95), ("p(99)", 0.99), ("p(99.9)", 0.999)] {
            assert_near(of[name].as_f64().unwrap(), quantile_s(share) * 1e3, PRECISION);
        }
        assert_near(of["avg"].as_f64().unwrap(), mean_s() * 1e3, PRECISION);
    }
    let failed = &metrics["http_req_failed"];
    assert_eq!((&failed["passes"], &failed["fails"]), (&500.into(), &19_500.into()));
    assert_eq!((&failed["value"], &failed["values"]["rate"]), (&0.025.into(), &0.025.into()));
    assert!(failed["values"]["value"].is_null());
    assert_eq!(metrics["data_received"]["rate"], 300_000.0);
    // Echo has no HTTP metrics.
    let metrics = scene.json(&["export", "--to", "k6", "tcp"])["metrics"].clone();
    assert!(metrics.as_object().unwrap().keys().all(|name| !name.starts_with("http")), "{metrics}");
    assert_eq!(metrics["iterations"]["count"], 20_000);
}
