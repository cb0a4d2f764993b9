//! Two runs in one page: combined series, separate notes.

use crate::scene::{self, Scene};
use crate::{browser, data, model, nothing_went_wrong};
use brunt_lab::report::{self, Run};

const LOAD: &str = "[sweep]\nconnections = [10, 80, 500]";

fn run<'a>(name: &str, scene: &'a Scene) -> Run<'a> {
    Run { name: name.into(), report: &scene.report, store: &scene.store, place: format!("../{name}/") }
}

#[test]
fn series_of_two_runs_are_named_by_run() {
    let home = brunt_testkit::home();
    // The second run has an additional target and lacks `epoll`.
    let first = scene::scene(&home.path().join("a"), model::run(&model::plan(LOAD, &["uring", "epoll"]), 2));
    let mut other = model::run(&model::plan(LOAD, &["go", "uring"]), 2);
    other.experiment.name = "q".into();
    other.experiment.command = vec!["brunt".into(), "run".into(), "elsewhere".into()];
    let second = scene::scene(&home.path().join("b"), other);
    let page = report::page_of_runs(&[run("monday", &first), run("to<day", &second)]).unwrap();
    assert!(page.contains("<h1>p, q</h1>") && page.contains("<h3>to&lt;day</h3>"), "no headings");
    assert!(page.contains("`brunt run elsewhere`"), "each run has its own command");
    let data = data(&page);
    let targets = ["monday: uring", "to<day: uring", "monday: epoll", "to<day: go"];
    assert_eq!(data["targets"], serde_json::json!(targets));
    let rows = data["rows"].as_array().unwrap();
    assert_eq!(rows.len(), first.report.rows.len() + second.report.rows.len());
    for row in rows {
        let target = data["targets"][row["target"].as_u64().unwrap() as usize].as_str().unwrap();
        let (run, plain) = target.split_once(": ").unwrap();
        // Directories keep the plain target name.
        let folder = row["folder"].as_str().unwrap();
        assert!(folder.starts_with(&format!("../{run}/trials/target={plain},")), "{folder}");
        assert!(!row["spectrum"].as_array().unwrap().is_empty(), "read from the run's own directory: {row}");
    }
    let ten: Vec<u64> =
        rows.iter().filter(|row| row["connections"] == 10).map(|row| row["target"].as_u64().unwrap()).collect();
    assert_eq!(ten, [0, 1, 2, 3], "rows of one load stand together");
    assert!(data["views"].as_array().unwrap().iter().all(|view| view["rows"].as_array().unwrap().len() == rows.len()));

    let Some(mut browser) = browser::start(home.path()) else { return };
    let file = home.path().join("page.html");
    std::fs::write(&file, page).unwrap();
    browser.open(&file);
    browser.wait("[...document.querySelectorAll('[data-view]')].every((figure) => figure.querySelector('canvas'))");
    browser.value("document.querySelectorAll('table.cells tbody tr')[1].click()");
    let link = browser.value("document.querySelector('#detail a').getAttribute('href')");
    assert_eq!(link, "../to%3Cday/trials/target%3During%2Cconnections%3D10/1/");
    nothing_went_wrong(&browser);
}
