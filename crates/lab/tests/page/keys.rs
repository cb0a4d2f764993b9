//! Keyboard and screen reader access to the page.

use crate::browser;
use crate::{nothing_went_wrong, scene};
use serde_json::json;

#[test]
fn rows_and_bars_work_with_the_keyboard() {
    let home = brunt_testkit::home();
    let Some(mut browser) = browser::start(home.path()) else { return };
    browser.open(&scene::usual(home.path()).written());
    for (selector, key) in [(".bar", " "), (".bar", "Enter"), ("td.t button", "Enter"), ("td.t button", " ")] {
        browser.tab_to(selector);
        let outline = "getComputedStyle(document.activeElement).outlineStyle";
        assert_eq!(browser.value(outline), "solid", "{selector} shows that it is in focus");
        browser.value("window.opener_ = document.activeElement");
        assert_eq!(browser.value("opener_.getAttribute('aria-expanded')"), "false");
        browser.key(key);
        browser.wait("document.getElementById('detail').open");
        assert_eq!(browser.value("opener_.getAttribute('aria-expanded')"), "true");
        assert_eq!(browser.value("document.getElementById('detail').contains(document.activeElement)"), true);
        browser.key("Escape");
        browser.wait("!document.getElementById('detail').open && opener_.getAttribute('aria-expanded') === 'false'");
        assert_eq!(browser.value("document.activeElement === opener_"), true);
    }
    nothing_went_wrong(&browser);
}

/// The first line of the tooltip; null if it is hidden.
const TIP: &str = "(() => {
    const tip = document.getElementById('tip');
    return tip.hidden ? null : tip.innerText.split('\\n')[0];
})()";

#[test]
fn points_of_plots_are_reached_with_the_keyboard() {
    let home = brunt_testkit::home();
    let Some(mut browser) = browser::start(home.path()) else { return };
    browser.open(&scene::usual(home.path()).written());
    browser.wait("[...document.querySelectorAll('[data-view]')].every((figure) => figure.querySelector('canvas'))");
    browser.tab_to("[data-view] .plot");
    browser.wait(&format!("{TIP} !== null"));
    let focused = "document.activeElement.getAttribute('aria-label')";
    assert!(browser.value(focused).as_str().unwrap().starts_with("throughput by connections: "));
    let mut at = |keys: &str| {
        keys.split(' ').for_each(|key| browser.key(key));
        browser.value(TIP).as_str().unwrap_or("none").to_owned()
    };
    // Three loads of two targets, of which uring is the slower one at first and the faster one at last.
    let walk = [
        ("Home", "uring, 10 connections"),
        ("ArrowRight", "uring, 80 connections"),
        ("End", "uring, 500 connections"),
        ("ArrowRight", "uring, 500 connections"),
        ("ArrowLeft ArrowLeft", "uring, 10 connections"),
        ("Escape", "none"),
    ];
    for (keys, there) in walk {
        let now = at(keys);
        assert!(now.starts_with(there), "{keys}: {now} instead of {there}");
    }
    let first = at("Home");
    let other = [at("ArrowUp"), at("ArrowDown")].into_iter().find(|one| *one != first).unwrap();
    assert!(other.starts_with("epoll, 10 connections"), "{other}");
    assert_eq!(at("+ 0"), other, "the tooltip follows its point");
    browser.key("Enter");
    browser.wait("document.getElementById('detail').open");
    browser.key("Escape");
    browser.wait("!document.getElementById('detail').open");
    assert_eq!(browser.value("document.activeElement.matches('.plot')"), true);
    assert_eq!(browser.value(TIP), *other, "the focus is back at the point");
    browser.key("Tab");
    assert_ne!(browser.value(focused), "", "the next one");
    nothing_went_wrong(&browser);
}

#[test]
fn screen_readers_get_names_and_descriptions() {
    let home = brunt_testkit::home();
    let Some(mut browser) = browser::start(home.path()) else { return };
    browser.open(&scene::usual(home.path()).written());
    browser.wait("[...document.querySelectorAll('[data-view]')].every((figure) => figure.querySelector('canvas'))");
    let tree = browser.ask("Accessibility.getFullAXTree", json!({}));
    let nodes: Vec<(String, String)> = tree["nodes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|node| {
            [&node["role"]["value"], &node["name"]["value"]].map(|v| v.as_str().unwrap_or("").to_owned()).into()
        })
        .collect();
    let has = |role: &str, parts: &[&str]| {
        let names: Vec<&str> = nodes.iter().filter(|(own, _)| own == role).map(|(_, name)| name.as_str()).collect();
        let is_it = |name: &&str| parts.iter().all(|part| name.contains(part));
        assert!(names.iter().any(is_it), "no {role} with {parts:?} in {names:?}");
    };
    has("button", &["uring, 10 connections", "closed loop", ", trials"]);
    has("button", &["epoll, 80 connections", "20k req/s offered", "response p99 ", ", trials"]);
    has("image", &["throughput by connections: uring ", " k req/s at 10 to ", " at 500; epoll "]);
    has("image", &["response time by percentile: "]);
    has("table", &["Every cell"]);
    nothing_went_wrong(&browser);
}
