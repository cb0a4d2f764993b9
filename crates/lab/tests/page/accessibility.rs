//! Accessibility of every kind of page, in light and in dark.

use crate::axe::{axe, violations};
use crate::{browser, nothing_went_wrong, one_load, others, scene};
use serde_json::json;
use std::path::PathBuf;

#[test]
fn axe_finds_nothing_serious_on_any_page() {
    let home = brunt_testkit::home();
    let Some(axe) = axe() else { return };
    let Some(mut browser) = browser::start(home.path()) else { return };
    let pages: [PathBuf; 4] = [
        scene::usual(home.path()).written(),
        one_load::page(home.path(), "load"),
        others::comparison(home.path()),
        others::search(home.path()),
    ];
    for page in pages {
        for scheme in ["light", "dark"] {
            let features = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
            browser.ask("Emulation.setEmulatedMedia", features);
            browser.open(&page);
            let found = violations(&mut browser, &axe);
            assert!(found.is_empty(), "{}, {scheme}: {}", page.display(), found.join("\n"));
        }
    }
    nothing_went_wrong(&browser);
}
