//! promtool accepts the text, and the quantiles are the recorded ones.

use super::scene::{PRECISION, Scene, assert_near, mean_s, quantile_s};
use crate::shared::consumers::{check, lacks, runs, sample};

#[test]
fn promtool_accepts_the_text() {
    let scene = Scene::with_run();
    let texts = ["runs/scene", "http"].map(|dir| scene.brunt(&["export", "--to", "prometheus", dir]));
    if lacks("promtool", runs("promtool", &["--version"])) {
        return;
    }
    texts.iter().for_each(|text| check(text));
}

#[test]
fn quantiles_and_buckets_are_those_of_the_distribution() {
    let scene = Scene::with_run();
    let text = scene.brunt(&["export", "--to", "prometheus", "runs/scene"]);
    let labels = "plan=\"scene\",target=\"echo\",size=\"1024\",repeat=\"2\"";
    for share in [0.5, 0.9, 0.99, 0.999] {
        let found = sample(&text, &format!("brunt_response_quantiles_seconds{{{labels},quantile=\"{share}\"}}"));
        assert_near(found, quantile_s(share), PRECISION);
    }
    let buckets: Vec<(f64, f64)> = text
        .lines()
        .filter_map(|line| line.strip_prefix(&format!("brunt_response_seconds_bucket{{{labels},le=\"")))
        .filter_map(|rest| {
            let (bound, count) = rest.split_once("\"} ")?;
            Some((bound.parse().ok()?, count.parse().ok()?))
        })
        .collect();
    assert_eq!(buckets.len(), 82, "{text}");
    assert_eq!(buckets[81], (f64::INFINITY, 20_000.0));
    assert!(buckets.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 <= pair[1].1), "{buckets:?}");
    // As in histogram_quantile: the true quantile lies in the bucket that reaches its count.
    for share in [0.5, 0.9, 0.99] {
        let place = buckets.iter().position(|(_, count)| *count >= share * 20_000.0).unwrap();
        let truth = quantile_s(share);
        assert!(buckets[place - 1].0 * 0.999 <= truth && truth <= buckets[place].0 * 1.001, "{share}: {buckets:?}");
    }
    assert_near(sample(&text, &format!("brunt_response_seconds_sum{{{labels}}}")), mean_s() * 20_000.0, PRECISION);
    assert_eq!(sample(&text, &format!("brunt_server_cpu_ratio{{{labels},mode=\"system\"}}")), 0.3);
    assert_near(sample(&text, &format!("brunt_server_cpu_seconds_per_request{{{labels}}}")), 200e-6, 1e-9);
    // Absent figures have no line.
    assert!(!text.contains("brunt_server_resident_memory_bytes"), "{text}");
    let text = scene.brunt(&["export", "--to", "prometheus", "http"]);
    assert_eq!(sample(&text, "brunt_verdict{url=\"http://127.0.0.1:8080/\",verdict=\"ok\"}"), 1.0);
    assert_eq!(sample(&text, "brunt_errors_total{url=\"http://127.0.0.1:8080/\",kind=\"timeout\"}"), 200.0);
}
