//! Pages of a comparison and of a search, and how they read.

use crate::browser;
use crate::{nothing_went_wrong, one_load};
use brunt_lab::compare::{ResultSet, compare};
use brunt_lab::report::page_of_comparison;
use brunt_lab::slo_search::{SearchReport, SearchResult, SloOutcome, Step, page};
use brunt_results::verdict::Kind;
use std::fs;
use std::path::{Path, PathBuf};

/// Two sets of eight loads, B a tenth slower.
pub fn comparison(home: &Path) -> PathBuf {
    let set = |name: &str, rate: f64| {
        let place = home.join("sets").join(name);
        for number in 0..8u32 {
            one_load::leave(&place.join(number.to_string()), 5, rate * (1.0 + f64::from(number) / 1000.0));
        }
        place
    };
    let sources = vec![set("before", 2000.0), set("after", 1800.0)];
    let [a, b] = [0, 1].map(|side| ResultSet::read(&sources[side]).unwrap());
    let compared = compare(&a, &b, 0.03).unwrap();
    let file = home.join("comparison.html");
    fs::write(&file, page_of_comparison(&compared, &sources).unwrap()).unwrap();
    file
}

/// A search that found a limit between two rates, and is not sure of one.
pub fn search(home: &Path) -> PathBuf {
    let step = |rate: f64, p99_us: f64, outcome: SloOutcome, broken: &[&str]| Step {
        dir: PathBuf::from("steps/01"),
        rate,
        confirms: outcome == SloOutcome::Holds,
        slices: Some(9),
        measured_s: 2.0,
        answered: rate.min(410.0),
        p50_us: Some(p99_us / 2.0),
        p99_us: Some(p99_us),
        slo_us: Some(p99_us),
        errors: 0.0,
        verdict: Kind::Ok,
        broken: broken.iter().map(|text| (*text).to_owned()).collect(),
        remedy: Vec::new(),
        outcome,
    };
    let found = SearchReport {
        url: "http://127.0.0.1:27200/a<b>".to_owned(),
        times: None,
        slo: "p99<60ms".to_owned(),
        bound: Some(("p99".to_owned(), 60_000.0)),
        end: SearchResult::Holds { rate: 400.0, breaks: 500.0 },
        confidence: 0.995,
        rounds: 9,
        doubts: vec!["one start of the target was measured".to_owned()],
        steps: vec![
            step(200.0, 11e3, SloOutcome::Holds, &[]),
            step(400.0, 13e3, SloOutcome::Holds, &[]),
            step(450.0, 41e3, SloOutcome::Unclear, &[]),
            step(500.0, 161e3, SloOutcome::Breaks, &["p99<60ms: it was 161 ms"]),
        ],
    };
    let started = [("measured by".to_owned(), "brunt find --slo 'p99<60ms' http://127.0.0.1:27200/a<b>".to_owned())];
    let file = home.join("search.html");
    fs::write(&file, page(&found, &started).unwrap()).unwrap();
    file
}

#[test]
fn a_comparison_says_what_changed_of_which_statistic_and_shows_intervals() {
    let home = brunt_testkit::home();
    let file = comparison(home.path());
    let page = fs::read_to_string(&file).unwrap();
    let answer = page.split_once("class=\"answer\">").unwrap().1.split_once("</p>").unwrap().0;
    assert!(
        answer.contains("rate is 10.0 % lower (95 % interval -") && answer.contains("response p50 is "),
        "{answer}"
    );
    assert!(page.find("class=\"answer\"") < page.find("<table"), "the answer comes first");
    assert!(page.contains("<th class=\"n\">change, of geometric means</th>"), "{page}");
    assert!(
        page.contains("<th>figure</th><th>verdict</th>") && page.contains("<b class=\"v-different\">different</b>")
    );
    assert!(page.contains("brunt load http://127.0.0.1:1/ -R 2k") && page.contains("A CPU"), "commands and machine");
    assert_eq!(page.matches("class=\"bar ratio\"").count(), 4, "a line for each figure");
    let Some(mut browser) = browser::start(home.path()) else { return };
    browser.open(&file);
    let dots = "[...document.querySelectorAll('.span b')].map((dot) => parseFloat(dot.style.left))";
    let dots = browser.value(dots);
    // The rate is lower, the times are higher.
    assert!(dots[0].as_f64().unwrap() < 50.0 && dots[1].as_f64().unwrap() > 50.0, "{dots}");
    nothing_went_wrong(&browser);
}

#[test]
fn a_search_begins_with_its_answer_and_marks_the_knee() {
    let home = brunt_testkit::home();
    let file = search(home.path());
    let page = fs::read_to_string(&file).unwrap();
    let (_, rest) = page.split_once("<p class=\"answer\">").unwrap();
    assert!(rest.starts_with("p99&lt;60ms holds up to 400 requests/s, confirmed; it breaks at 500"), "{rest}");
    assert!(
        page.contains("<th>verdict</th>") && page.contains("band: where the limit lies") && page.contains("Doubts")
    );
    assert!(page.contains("<code>brunt find --slo 'p99&lt;60ms' http://127.0.0.1:27200/a&lt;b&gt;</code>"));
    let Some(mut browser) = browser::start(home.path()) else { return };
    browser.open(&file);
    let second = "[...document.querySelectorAll('table tr')].map((row) => row.cells[1].textContent)";
    assert_eq!(browser.value(second), serde_json::json!(["verdict", "ok", "ok", "ok", "ok"]));
    nothing_went_wrong(&browser);
}
