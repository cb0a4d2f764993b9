//! Hyperfine's own scripts read the file.

use super::scene::{PRECISION, Scene, assert_near, mean_s, quantile_s};
use crate::shared::consumers::{lacks, runs};
use std::{env, path::PathBuf, process::Command};

/// Output of a hyperfine script. `BRUNT_HYPERFINE` is the folder of its sources.
fn script(scene: &Scene, name: &str) -> Option<String> {
    let folder = env::var_os("BRUNT_HYPERFINE").map(PathBuf::from).filter(|folder| folder.is_dir());
    if lacks("hyperfine", folder.is_some() && runs("python3", &["-c", "import numpy, scipy"])) {
        return None;
    }
    let mut python = Command::new("python3");
    python.current_dir(scene.home.path()).arg(folder?.join("scripts").join(name)).arg("cells.json");
    let output = python.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8(output.stdout).unwrap())
}

#[test]
fn its_statistics_are_those_of_the_repeats() {
    let scene = Scene::with_run();
    scene.brunt(&["export", "--to", "hyperfine", "--figure", "max", "runs/scene", "--out", "cells.json"]);
    let Some(said) = script(&scene, "advanced_statistics.py") else { return };
    for cell in ["Command 'target=echo,size=100B'", "Command 'target=echo,size=1KiB'"] {
        assert!(said.contains(cell), "{said}");
    }
    let medians: Vec<f64> = said
        .lines()
        .filter_map(|line| line.trim().strip_prefix("median:")?.trim().strip_suffix(" s")?.parse().ok())
        .collect();
    assert_eq!(medians.len(), 2, "{said}");
    // The script prints milliseconds.
    medians.iter().for_each(|median| assert!((median - quantile_s(1.0)).abs() < 0.002, "{median}"));
    let said = script(&scene, "welch_ttest.py").unwrap_or_default();
    assert!(said.contains("size=100B") && said.contains("size=1KiB"), "{said}");
}

#[test]
fn every_figure_is_in_seconds_and_every_parameter_a_plain_number() {
    let scene = Scene::with_run();
    for (figure, expected) in
        [("p50", quantile_s(0.5)), ("p99.9", quantile_s(0.999)), ("mean", mean_s()), ("cost", 200e-6)]
    {
        let export = scene.json(&["export", "--to", "hyperfine", "--figure", figure, "runs/scene"]);
        let results = export["results"].as_array().unwrap();
        assert_eq!(results.len(), 2);
        for (result, size) in results.iter().zip(["100", "1024"]) {
            assert_eq!(result["parameters"], serde_json::json!({"size": size}));
            for key in ["mean", "median", "min", "max"] {
                assert_near(result[key].as_f64().unwrap(), expected, PRECISION);
            }
            assert_eq!(
                (result["times"].as_array().unwrap().len(), &result["exit_codes"]),
                (2, &serde_json::json!([0, 0]))
            );
            assert_eq!(result["stddev"], 0.0);
            assert_near(result["user"].as_f64().unwrap(), 50e-6, 1e-9);
            assert_near(result["system"].as_f64().unwrap(), 150e-6, 1e-9);
            assert_eq!(result["memory_usage_byte"], serde_json::json!([5 << 20, 5 << 20]));
        }
    }
    // A single result is one command without a deviation.
    let export = scene.json(&["export", "--to", "hyperfine", "http"]);
    assert_eq!(export["results"][0]["command"], "http://127.0.0.1:8080/");
    assert!(export["results"][0]["stddev"].is_null());
}
