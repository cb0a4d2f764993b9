//! The HTML page: its contents and, in a real browser, drawing, tooltips and sorting.

mod accessibility;
mod axe;
mod browser;
mod keys;
#[path = "../all/common/model.rs"]
#[allow(dead_code, reason = "the tests of charts use the rest")]
mod model;
mod one_load;
mod others;
mod scene;
mod size;
mod together;

use browser::Browser;
use brunt_lab::{plan::builtin, report};
use scene::Scene;
use serde_json::{Value, json};
use std::fs;

/// The data of the page's script, each row as an object.
fn data(page: &str) -> Value {
    let (_, rest) = page.split_once("id=\"data\">").unwrap();
    let mut data: Value = serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap();
    let columns: Vec<String> = serde_json::from_value(data["rows"]["columns"].take()).unwrap();
    let records: Vec<Vec<Value>> = serde_json::from_value(data["rows"]["data"].take()).unwrap();
    let object = |values: Vec<Value>| -> Value {
        assert_eq!(values.len(), columns.len());
        columns.iter().cloned().zip(values).collect()
    };
    data["rows"] = records.into_iter().map(object).collect();
    data
}

#[test]
fn a_page_is_self_contained() {
    let home = brunt_testkit::home();
    let scene = scene::usual(home.path());
    let page = scene.page();
    assert_eq!(page, scene.page());
    for outward in ["src=", "@import", "url(", "<link rel=\"stylesheet"] {
        assert!(!page.contains(outward), "{outward}");
    }
    assert!(page.contains("default-src 'none'") && page.contains("<noscript>") && page.contains("<svg width"));
    // Target names and output cannot end or begin an element.
    assert!(!page.contains("<script>alert") && page.contains("a &lt;b&gt; &amp; &quot;c&quot;"), "not escaped");
    let data = data(&page);
    assert_eq!(data["targets"], json!(["uring", "epoll", "go"]));
    let rows = data["rows"].as_array().unwrap();
    let failed = rows.iter().find(|row| row["verdicts"][0][0] == "failed").unwrap();
    assert!(failed["issues"][0]["why"].as_str().unwrap().contains("</script>"), "{failed}");
}

#[test]
fn every_point_has_figures_interval_verdict_and_machine() {
    let home = brunt_testkit::home();
    let scene = scene::usual(home.path());
    let data = data(&scene.page());
    let rows = data["rows"].as_array().unwrap();
    assert_eq!(rows.len(), scene.report.rows.len());
    for (shown, row) in rows.iter().zip(&scene.report.rows).filter(|(_, row)| row.done > 0) {
        let rate = row.figures.rate.unwrap();
        let near = |value: &Value, figure: f64| (value.as_f64().unwrap() / figure - 1.0).abs() < 1e-4;
        assert!(near(&shown["rate"], rate.median), "{shown}");
        assert!(near(&shown["rateInterval"][0], rate.low) && near(&shown["rateInterval"][1], rate.high), "{shown}");
        assert_eq!(shown["trials"].as_array().unwrap().len(), 3);
        let machine = data["machines"][shown["machines"][0].as_u64().unwrap() as usize].as_str().unwrap();
        assert!(machine.starts_with("A CPU <of some kind>"), "{machine}");
        // Uniform values from 0.1 us to 2 ms in three repeats: the median is 1 ms, of 60,000 requests.
        let spectrum = shown["spectrum"].as_array().unwrap();
        let odds = data["odds"].as_array().unwrap();
        let at = |share: f64| odds.iter().position(|odds| odds.as_f64() == Some(share));
        assert!((spectrum[at(10.0).unwrap()].as_f64().unwrap() - 1800.0).abs() < 5.0, "{spectrum:?}");
        let last = odds[spectrum.len() - 1].as_f64().unwrap();
        assert!((1e3..=6e3).contains(&last), "beyond that fewer than ten requests lie: {last}");
        // In the middle of each second: the first after the warm-up is not at its end.
        assert_eq!(shown["seconds"]["at"], json!([0.25, 1.0, 2.0, 3.0]));
        assert_eq!((&shown["seconds"]["warm"], &shown["seconds"]["cpu"][0]), (&json!(0.5), &json!(80.0)));
    }
}

#[test]
fn plots_follow_the_charts_and_add_latency_over_throughput() {
    let views = |report: &brunt_lab::report::Report| {
        let home = brunt_testkit::home();
        let store = brunt_lab::run_directory::RunDirectory::at(home.path());
        data(&report::page(report, &store, false).unwrap())["views"].as_array().unwrap().clone()
    };
    let axes = |views: &[Value]| {
        let word = |value: &Value| value.as_str().unwrap().to_owned();
        views.iter().map(|view| format!("{}/{}", word(&view["y"]), word(&view["x"]))).collect::<Vec<_>>()
    };
    let closed = model::run(&model::plan("[sweep]\nconnections = [10, 80, 500]", &["a"]), 2);
    let expected =
        ["rate/connections", "p50/connections", "p99/connections", "p50/rate", "p99/rate", "cost/connections"];
    assert_eq!(axes(&views(&closed)), expected);
    // Rates that are all reached do not turn back.
    let load = "[load]\nconnections = 80\n[sweep]\nrate = [\"20k\", \"50k\"]";
    assert_eq!(axes(&views(&model::run(&model::plan(load, &["a"]), 2))), ["p50/offered", "p99/offered", "cpu/offered"]);
    let scaling = views(&model::run(builtin::text("ping-pong-scaling").unwrap(), 48));
    let ideal: Vec<&Value> = scaling.iter().filter(|view| view["ideal"] == true).collect();
    assert!(!ideal.is_empty() && ideal.iter().all(|view| view["x"] == "cores" && view["y"] == "rate"), "{ideal:?}");
}

#[test]
fn pages_are_written_beside_the_report_and_mark_unfinished_runs() {
    let home = brunt_testkit::home();
    let Scene { report, store } = scene::usual(home.path());
    report::write(&report, &store).unwrap();
    let page = fs::read_to_string(store.path().join(brunt_lab::run_directory::PAGE_FILE)).unwrap();
    assert_eq!(data(&page)["isRunning"], false);
    assert_eq!(data(&report::page(&report, &store, true).unwrap())["isRunning"], true);
    store.clear().unwrap();
    assert!(!store.path().join(brunt_lab::run_directory::PAGE_FILE).exists());
}

/// Window coordinates of the leftmost pixel in the first target's colour; null if there is none.
const DRAWN: &str = "((n) => {
    const figure = document.querySelectorAll('[data-view]')[n];
    figure.scrollIntoView({ block: 'center' });
    const canvas = figure.querySelector('canvas');
    const colour = getComputedStyle(document.documentElement).getPropertyValue('--t0').trim();
    const [r, g, b] = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
    const { data, width } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    let found = null;
    for (let i = 0; i < data.length; i += 4) {
        if (data[i] !== r || data[i + 1] !== g || data[i + 2] !== b || data[i + 3] !== 255) continue;
        const [x, y] = [(i / 4) % width, Math.floor(i / 4 / width)];
        if (!found || x < found[0]) found = [x, y];
    }
    const box = canvas.getBoundingClientRect();
    return found && [box.left + found[0] * box.width / width, box.top + found[1] * box.height / canvas.height];
})";

#[test]
fn in_a_browser_the_plots_are_drawn_and_hovering_shows_the_point() {
    let home = brunt_testkit::home();
    let Some(mut browser) = browser::start(home.path()) else { return };
    let scene = scene::usual(home.path());
    browser.open(&scene.written());
    let plots = browser.value("document.querySelectorAll('[data-view]').length").as_u64().unwrap();
    assert_eq!(plots as usize, data(&scene.page())["views"].as_array().unwrap().len());
    browser.wait("[...document.querySelectorAll('[data-view]')].every((figure) => figure.querySelector('canvas'))");
    // Distribution and time series of the selected load.
    browser.wait("[...document.querySelectorAll('[data-detail]')].every((card) => card.querySelector('canvas'))");
    for plot in 0..plots {
        browser.wait(&format!("{DRAWN}({plot}) !== null"));
    }
    // The leftmost marker is the point with the fewest connections.
    let place = browser.value(&format!("{DRAWN}(0)"));
    browser.point(place[0].as_f64().unwrap() + 3.0, place[1].as_f64().unwrap(), false);
    browser.wait("!document.getElementById('tip').hidden");
    let told = browser.value("document.getElementById('tip').innerText");
    let row = scene.report.rows.iter().find(|row| row.cell.target == "uring").unwrap();
    let rate = format!("{:.1} k req/s", row.figures.rate.unwrap().median / 1e3);
    for word in ["uring, 10 connections", &rate, "range", "response p99", "repeats", "ok", "A CPU <of some kind>"] {
        assert!(told.as_str().unwrap().contains(word), "'{word}' is not in {told}");
    }
    browser.point(place[0].as_f64().unwrap() + 3.0, place[1].as_f64().unwrap(), true);
    browser.wait("document.getElementById('detail').open");
    browser.value("document.getElementById('detail').close()");
    browser.point(3.0, 3.0, false);
    browser.wait("document.getElementById('tip').hidden");
    nothing_went_wrong(&browser);
}

#[test]
fn in_a_browser_tables_sort_targets_hide_and_rows_open() {
    let home = brunt_testkit::home();
    let Some(mut browser) = browser::start(home.path()) else { return };
    browser.open(&scene::usual(home.path()).written());
    let column = "(name) => [...document.querySelectorAll('table.cells th')].findIndex((head) => head.textContent.replace('\\n', ' ') === name)";
    let cells = |name: &str| {
        format!(
            "[...document.querySelectorAll('table.cells tbody tr')].map((row) => row.cells[({column})('{name}')].textContent)"
        )
    };
    let press = |name: &str| {
        format!("document.querySelectorAll('table.cells th')[({column})('{name}')].querySelector('button').click()")
    };
    for (times, is_rising) in [(1, true), (2, false)] {
        browser.value(&press("response p50"));
        let sorted = browser.value(&cells("response p50"));
        let sorted: Vec<&str> = sorted.as_array().unwrap().iter().map(|cell| cell.as_str().unwrap()).collect();
        // Times in several units, and an absent one.
        let us = |text: &str| {
            let (number, unit) = text.split_once(' ')?;
            Some(number.parse::<f64>().unwrap() * if unit == "ms" { 1e3 } else { 1.0 })
        };
        let numbers: Vec<f64> = sorted.iter().filter_map(|text| us(text)).collect();
        assert!(numbers.is_sorted_by(|a, b| if is_rising { a <= b } else { a >= b }), "pressed {times}: {sorted:?}");
        assert_eq!(sorted.last(), Some(&"-"), "what is absent stands last");
    }
    browser.value("document.querySelector('#targets button').click()");
    assert_eq!(browser.value("document.querySelector('.bar[data-target=\"0\"]').hidden"), true);
    browser.value("document.querySelector('table.cells tbody tr').click()");
    assert_eq!(browser.value("document.getElementById('detail').open"), true);
    let told = browser.value("document.getElementById('detail').innerText");
    for word in ["repeat", "0.3 %", "generator on 0", "A CPU <of some kind>"] {
        assert!(told.as_str().unwrap().contains(word), "'{word}' is not in {told}");
    }
    nothing_went_wrong(&browser);
}

#[test]
fn dark_mode_and_pages_without_scripts() {
    let home = brunt_testkit::home();
    let Some(mut browser) = browser::start(home.path()) else { return };
    let page = scene::usual(home.path()).written();
    let ground = "getComputedStyle(document.body).backgroundColor";
    browser.open(&page);
    let light = browser.value(ground);
    let dark = json!({ "features": [{ "name": "prefers-color-scheme", "value": "dark" }] });
    browser.ask("Emulation.setEmulatedMedia", dark);
    browser.wait(&format!("{ground} !== {light}"));
    nothing_went_wrong(&browser);
    browser.ask("Emulation.setScriptExecutionDisabled", json!({ "value": true }));
    browser.open(&page);
    let root = browser.ask("DOM.getDocument", json!({}))["root"]["nodeId"].clone();
    let mut count = |selector: &str| {
        let found = browser.ask("DOM.querySelectorAll", json!({ "nodeId": root, "selector": selector }));
        found["nodeIds"].as_array().unwrap().len()
    };
    assert_eq!(count("noscript .still svg"), 3);
    assert_eq!(count("canvas"), 0);
    assert!(count(".bar .track i") > 0 && count("table.cells tbody tr") > 0);
}

#[track_caller]
fn nothing_went_wrong(browser: &Browser) {
    let complaints = browser.complaints();
    assert!(complaints.is_empty(), "{complaints:?}");
    let requests = browser.requests();
    let is_own = |url: &&str| url.starts_with("file:///") || url.starts_with("data:");
    assert!(!requests.is_empty() && requests.iter().all(is_own), "{requests:?}");
}
