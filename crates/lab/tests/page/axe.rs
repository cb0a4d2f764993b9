//! axe-core, which looks for what keeps people out of a page. `.ci/run` installs it.

use super::browser::Browser;

/// Where axe-core is: as `BRUNT_AXE` says, or as `.ci/run` puts it. `None`, with the reason printed, if it is nowhere.
pub fn axe() -> Option<String> {
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

/// Serious and critical violations of the open page.
pub fn violations(browser: &mut Browser, axe: &str) -> Vec<String> {
    browser.value(&format!("{axe};0"));
    let found = browser.value(
        "axe.run(document, { resultTypes: ['violations'] }).then((found) => found.violations
            .filter((one) => ['serious', 'critical'].includes(one.impact))
            .map((one) => one.id + ': ' + one.nodes.slice(0, 4).map((node) => node.html + ' ' + node.failureSummary).join(' | ')))",
    );
    found.as_array().unwrap().iter().map(ToString::to_string).collect()
}
