//! The keys and units of `vegeta report -type=json`.

use super::scene::{PRECISION, Scene, assert_near, mean_s, quantile_s};
use serde_json::json;

#[test]
fn every_key_of_a_report_is_there_in_nanoseconds() {
    let scene = Scene::new();
    let report = scene.json(&["export", "--to", "vegeta", "http"]);
    let latencies = &report["latencies"];
    for (name, share) in [("50th", 0.5), ("90th", 0.9), ("95th", 0.95), ("99th", 0.99), ("max", 1.0)] {
        // Go's durations are whole numbers; a fraction would be refused.
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
