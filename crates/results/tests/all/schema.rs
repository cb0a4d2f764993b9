//! Compares the published JSON Schema and the reference of figures with the code. To update them: `UPDATE_SCHEMA=1 UPDATE_DOCS=1 cargo
//! test -p brunt-results`.

use std::{fs, path::Path};

#[test]
fn the_published_schema_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema/result.schema.json");
    let mut current = serde_json::to_string_pretty(&brunt_results::schema::result()).unwrap();
    current.push('\n');
    if std::env::var_os("UPDATE_SCHEMA").is_some() {
        fs::write(&path, &current).unwrap();
    }
    let published = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        published == current,
        "docs/schema/result.schema.json is stale: UPDATE_SCHEMA=1 cargo test -p brunt-results"
    );
}

#[test]
fn the_reference_of_figures_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/figures.md");
    let current = brunt_results::figure::reference::page();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&path, &current).unwrap();
    }
    let published = fs::read_to_string(&path).unwrap_or_default();
    assert!(published == current, "docs/reference/figures.md is stale: UPDATE_DOCS=1 cargo test -p brunt-results");
}

#[test]
fn keys_of_the_contract_exist() {
    let schema = brunt_results::schema::result().to_string();
    for key in [
        "schema",
        "measurement_revision",
        "verdict",
        "why",
        "remedy",
        "completed",
        "failed",
        "unanswered",
        "rate",
        "offered_rate",
        "response",
        "service",
        "lag",
        "error",
        "mean_us",
        "p50_us",
        "p90_us",
        "p99_us",
        "p999_us",
        "max_us",
        "connect",
        "timeout",
        "reset",
        "protocol",
        "status",
        "opened",
        "peak",
        "sent",
        "received",
        "cpu_percent",
        "cores",
        "pid",
        "cpu_user_percent",
        "cpu_system_percent",
        "rss_bytes",
        "cpu_us_per_request",
        "instructions_user_per_request",
        "instructions_kernel_per_request",
        "cycles_per_request",
    ] {
        assert!(schema.contains(&format!("\"{key}\"")), "{key}");
    }
}
