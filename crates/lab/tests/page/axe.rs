//! Accessibility of every kind of page by axe-core, which `.ci/run` installs.

use crate::browser::{self, Browser};
use crate::{nothing_went_wrong, one_load, others, scene};
use serde_json::json;
use std::path::{Path, PathBuf};

/// Where axe-core is: as `BRUNT_AXE` says, or as `.ci/run` puts it. `None`, with the reason printed, if it is nowhere.
fn axe() -> Option<String> {
    let usual = "../../target/ci/consumers/node_modules/axe-core/axe.min.js";
    let given = std::env::var("BRUNT_AXE").unwrap_or_default();
    let place = if ["", "must"].contains(&given.as_str()) { usual.to_owned() } else { given.clone() };
    let found = std::fs::read_to_string(&place).ok();
    assert!(given.is_empty() || found.is_some(), "BRUNT_AXE={given}, and there is no {place}: npm install axe-core");
    if found.is_none() {
        println!("skipped: there is no {place} (npm install --prefix target/ci/consumers axe-core)");
    }
    found
}

/// Serious and critical violations of a page, in light and in dark.
fn violations(browser: &mut Browser, axe: &str, file: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for scheme in ["light", "dark"] {
        let features = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
        browser.ask("Emulation.setEmulatedMedia", features);
        browser.open(file);
        browser.value(&format!("{axe};0"));
        let violations = browser.value(
            "axe.run(document, { resultTypes: ['violations'] }).then((found) => found.violations
                .filter((one) => ['serious', 'critical'].includes(one.impact))
                .map((one) => one.id + ': ' + one.nodes.slice(0, 4).map((node) => node.html + ' ' + node.failureSummary).join(' | ')))",
        );
        let violations = violations.as_array().unwrap();
        found.extend(violations.iter().map(|one| format!("{}, {scheme}: {one}", file.display())));
    }
    found
}

#[test]
fn axe_finds_nothing_serious_on_any_page() {
    let home = tempfile::tempdir().unwrap();
    let Some(axe) = axe() else { return };
    let Some(mut browser) = browser::start(home.path()) else { return };
    let pages: [PathBuf; 4] = [
        scene::usual(home.path()).written(),
        one_load::page(home.path(), "load"),
        others::comparison(home.path()),
        others::search(home.path()),
    ];
    let found: Vec<String> = pages.iter().flat_map(|page| violations(&mut browser, &axe, page)).collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
    nothing_went_wrong(&browser);
}
