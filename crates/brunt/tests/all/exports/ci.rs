//! Formats of services that keep benchmarks: github-action-benchmark and Bencher.

use super::scene::{PRECISION, Scene, assert_near, quantile_s};
use crate::shared::consumers::{lacks, runs};
use std::process::Command;

/// The action reads the file of a custom tool by a schema of zod: an array of objects with name, unit and value, and with
/// range and extra as texts. No package registry has the action itself.
#[test]
fn zod_reads_what_github_gets() {
    // `npm install zod`, found through NODE_PATH.
    if lacks("zod", runs("node", &["-e", "require('zod')"])) {
        return;
    }
    let scene = Scene::with_run();
    let export = scene.json(&["export", "--to", "github", "--figure", "p99", "runs/scene"]);
    let read = "const { z } = require('zod'); const text = z.string().min(1); \
        const entry = z.object({ name: text, value: z.number(), unit: text, range: text.optional(), extra: text.optional() }); \
        console.log(JSON.stringify(z.array(entry).min(1).parse(JSON.parse(process.argv[1]))))";
    let output = Command::new("node").args(["-e", read, &export.to_string()]).output().unwrap();
    let parsed: serde_json::Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)));
    assert_eq!(parsed, export);
}

#[test]
fn github_gets_an_entry_for_each_cell() {
    let scene = Scene::with_run();
    let export = scene.json(&["export", "--to", "github", "--figure", "p99", "runs/scene"]);
    let entries = export.as_array().unwrap();
    let names: Vec<&str> = entries.iter().map(|entry| entry["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["target=echo,size=100B: p99", "target=echo,size=1KiB: p99"]);
    for entry in entries {
        let keys: Vec<&String> = entry.as_object().unwrap().keys().collect();
        assert_eq!(keys, ["extra", "name", "range", "unit", "value"]);
        assert!(entry["unit"] == "us" && entry["range"].is_string() && entry["extra"] == "2 repeats", "{entry}");
        assert_near(entry["value"].as_f64().unwrap() / 1e6, quantile_s(0.99), PRECISION);
    }
    let rate = scene.json(&["export", "--to", "gha", "--figure", "rate", "http"]);
    assert!(rate[0]["unit"] == "requests/s" && rate[0]["value"].as_f64() > Some(0.0), "{rate}");
}

/// The documented Bencher Metric Format: benchmark, measure, value with optional bounds. No package registry has a reader.
#[test]
fn bencher_gets_measures_with_bounds() {
    let scene = Scene::with_run();
    let export = scene.json(&["export", "--to", "bencher", "runs/scene"]);
    let cell = &export["target=echo,size=100B"];
    assert_near(cell["latency-p50"]["value"].as_f64().unwrap() / 1e9, quantile_s(0.5), PRECISION);
    for (name, measure) in cell.as_object().unwrap() {
        assert_eq!(measure.as_object().unwrap().len(), 3, "{measure}");
        let [low, value, high] = ["lower_value", "value", "upper_value"].map(|key| measure[key].as_f64().unwrap());
        assert!(low <= value && value <= high, "{name}: {measure}");
    }
    assert_near(cell["cpu-time-per-request"]["value"].as_f64().unwrap(), 200e3, 1e-6);
}
