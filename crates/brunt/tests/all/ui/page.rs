//! The page in a browser: live figures, no violation of its policy, nothing that keeps people out.

use super::axe::{axe, violations};
use super::browser;
use super::scene::{Ui, server};
use brunt_testkit::home;
use serde_json::json;

/// Presses Enter on a button of a form, and waits until the page that it leads to is loaded.
fn submit(browser: &mut browser::Browser, path: &str) {
    browser.leave(|browser| browser.key("Enter"));
    assert_eq!(browser.value("location.pathname"), path);
}

#[test]
fn a_browser_shows_live_figures_and_nothing_violates_the_policy() {
    let home = home();
    let Some(mut browser) = browser::start(&home) else { return };
    let (_server, url) = server(&home);
    let ui = Ui::start(&home, &["--allow-start"]);
    browser.ask(
        "Emulation.setDeviceMetricsOverride",
        json!({ "width": 1440, "height": 900, "deviceScaleFactor": 1, "mobile": false }),
    );
    browser.visit(&ui.url);
    assert_eq!(browser.value("location.search"), "", "the token leaves the address");
    let origin = format!("http://{}", ui.host());
    browser.visit(&format!("{origin}/start"));
    browser.value(&format!(
        "(() => {{ for (const [name, value] of [['url', '{url}'], ['connections', '4'], ['rate', '500'], ['duration', '600s']]) \
         document.getElementById(name).value = value; \
         document.getElementById('url').dispatchEvent(new Event('input', {{ bubbles: true }})); }})()"
    ));
    browser.wait(&format!("document.getElementById('command').textContent === 'brunt load {url} -c 4 -d 600s -R 500'"));
    assert!(browser.complaints().is_empty(), "{:?}", browser.complaints());
    let axe = axe();
    let check = |browser: &mut browser::Browser, page: &str| {
        let serious = axe.as_ref().map_or_else(Vec::new, |axe| violations(browser, axe));
        assert!(serious.is_empty(), "{page}: {}", serious.join("\n"));
    };
    check(&mut browser, "form");
    // By the keyboard alone.
    browser.tab_to("button.main");
    submit(&mut browser, "/live");
    // How long the warm-up took, which the time until the end begins with, is up to the machine.
    browser.wait(r"/of \d+:\d\d left/.test(document.getElementById('state')?.textContent)");
    browser.wait("/500 offered/.test(document.querySelector('.row-rate dd')?.textContent)");
    browser.wait("document.querySelectorAll('#times path.line').length === 3");
    browser.wait("/left. verdict so far/.test(document.getElementById('spoken').textContent)");
    check(&mut browser, "live");
    let widths = "document.documentElement.scrollWidth <= innerWidth";
    assert_eq!(browser.value(widths), true);
    browser.ask(
        "Emulation.setDeviceMetricsOverride",
        json!({ "width": 400, "height": 800, "deviceScaleFactor": 1, "mobile": true }),
    );
    browser.ask(
        "Emulation.setEmulatedMedia",
        json!({ "features": [{ "name": "prefers-color-scheme", "value": "dark" }] }),
    );
    assert_eq!(browser.value(widths), true, "at 400 px");
    check(&mut browser, "live, dark and narrow");
    browser.tab_to("#stop button");
    submit(&mut browser, "/live");
    browser.wait("/^interrupted after/.test(document.getElementById('state')?.textContent)");
    assert!(browser.complaints().is_empty(), "{:?}", browser.complaints());
    let result = browser.value("document.getElementById('result').href");
    let dir = home.join("state/ui/load").display().to_string();
    assert_eq!(result, format!("{origin}/result?dir={dir}"));
    for page in ["/".to_owned(), format!("/result?dir={dir}"), format!("/compare?dir={dir}&dir={dir}")] {
        browser.visit(&format!("{origin}{page}"));
        assert!(browser.complaints().is_empty(), "{page}: {:?}", browser.complaints());
        assert!(browser.requests().iter().all(|url| url.starts_with(&origin) || url.starts_with("data:")));
        if !page.starts_with("/result") {
            check(&mut browser, &page);
        }
    }
}
