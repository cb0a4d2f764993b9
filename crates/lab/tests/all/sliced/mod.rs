//! Reports of sliced experiments, made from their directories alone.

mod scene;

use brunt_lab::plan::Style;
use brunt_lab::report::{self, Width};
use brunt_slices::{Slice, record};
use scene::{ROUNDS, STARTS, TARGETS, sliced};
use std::fs;

const TWO_LOADS: &str = "[load]\nconnections = 80\n[sweep]\nrate = [\"max\", \"20k\"]";

/// The lines of the table: those before the second empty line that ends a paragraph without a heading.
fn table(text: &str) -> Vec<&str> {
    let after_title = text.split_once("\n\n").unwrap().1;
    let lines = after_title.lines().take_while(|line| line.is_empty() || line.starts_with(' ') || !line.contains(':'));
    lines.collect()
}

/// Names of the columns: both header lines, split at the ends of the cells.
fn columns(table: &[&str]) -> usize {
    let baseline = table.iter().find(|line| line.contains(" x1 ")).unwrap();
    baseline.split("  ").filter(|cell| !cell.trim().is_empty()).count()
}

#[test]
fn the_default_table_is_narrow_and_the_answer_stands_right_below_it() {
    let home = brunt_testkit::home();
    let store = sliced(home.path(), TWO_LOADS, TARGETS);
    let read = report::read(store.path()).unwrap();
    let text = report::text(&read, Style::Plain, Width::Within(None));
    let table = table(&text);
    assert!(table.iter().all(|line| line.chars().count() <= 100), "{text}");
    assert_eq!(columns(&table), 8, "{text}");
    for line in [" closed loop", " 20k req/s offered"] {
        assert!(table.contains(&line), "the load heads its rows: {text}");
    }
    let row = |name: &str| *table.iter().find(|line| line.starts_with(&format!(" {name} "))).unwrap();
    assert!(row("uring").contains("x1.198 [1.19") && row("uring").ends_with("different"), "{text}");
    assert!(row("twin").ends_with("no difference") && row("epoll").ends_with("baseline"), "{text}");
    let below: Vec<&str> = text.lines().skip_while(|line| !line.starts_with("closed loop: ")).collect();
    assert!(below[0].starts_with("closed loop: uring serves 1.198x epoll [1.19"), "{text}");
    assert!(text.find(below[0]) < text.find("Started 2021"), "{text}");
    assert!(below.iter().any(|line| line.starts_with("20k req/s offered: uring ")), "{text}");
    let basis = "41 rounds a load, 3 starts, 2 void, 37 s of load; CPU time from task clock (perf events)";
    assert!(below.contains(&basis), "{text}");
    assert!(below.contains(&"answered: rate 3 of 3, CPU time a request 6 of 6"), "{text}");

    let narrow = report::text(&read, Style::Plain, Width::Within(Some(72)));
    assert!(["x baseline", "[95 %]", "verdict", "uring"].iter().all(|word| narrow.contains(word)), "{narrow}");
    assert!(narrow.contains("columns left out to fit: --wide"), "{narrow}");
    let wide = report::text(&read, Style::Plain, Width::Wide);
    for word in ["x baseline", "service", "p99.9", "user %", "total %", "per req"] {
        assert!(wide.contains(word), "'{word}' is not in {wide}");
    }
    assert!(!wide.contains("left out"), "{wide}");
    let merged = wide.lines().find(|line| line.contains(" uring ")).unwrap();
    assert!(wide.contains("merged") && merged.matches(", x0.83").count() == 2, "{wide}");
    // 0.2 % of the time is lost: more than lies beyond p99.9, less than beyond p99.
    assert_eq!(merged.matches(", the machine's").count(), 1, "{wide}");
}

#[test]
fn a_target_that_spins_is_named_and_has_no_cost() {
    let home = brunt_testkit::home();
    let store = sliced(home.path(), "[load]\nconnections = 80", TARGETS);
    let text = report::text(&report::read(store.path()).unwrap(), Style::Plain, Width::Within(None));
    let cells = |name: &str| text.lines().find(|line| line.starts_with(&format!(" {name} "))).unwrap();
    assert!(cells("tokio").contains(" polls ") && !cells("uring").contains(" polls "), "{text}");
    for line in [
        "polls: tokio uses 99.0 % of a core while it has no load: its CPU time a request is that of the core, not a cost",
        "frozen: tokio uses 99.0 % of a core while it has no load: SIGSTOP stops it between its slices",
    ] {
        assert!(text.lines().any(|found| found == line), "{text}");
    }
}

#[test]
fn markdown_begins_with_the_answer_and_folds_the_wide_table() {
    let home = brunt_testkit::home();
    let store = sliced(home.path(), "[load]\nconnections = 80", &TARGETS[..2]);
    let read = report::read(store.path()).unwrap();
    let text = report::markdown(&read, Style::Plain);
    let head: Vec<&str> = text.split("\n\n").take(5).collect();
    assert!(
        head[3].starts_with("**uring serves 1.198x epoll [") && head[4].starts_with("| target | x baseline"),
        "{text}"
    );
    let (_, fold) = text.split_once("<details><summary>Every figure</summary>").unwrap();
    assert!(fold.split_once("</details>").unwrap().0.contains("| x baseline CPU |"), "{text}");
}

#[test]
fn a_run_that_was_killed_is_reported_from_its_whole_lines() {
    let home = brunt_testkit::home();
    let store = sliced(home.path(), "[load]\nconnections = 80", &TARGETS[..2]);
    let place = store.slices("");
    let whole = fs::read(&place).unwrap();
    fs::write(&place, &whole[..whole.len() - 9]).unwrap();
    assert_eq!(report::read(store.path()).unwrap().comparisons[0].targets.len(), 2);
    fs::write(&place, b"{}\n").unwrap();
    let error = report::read(store.path()).unwrap_err().to_string();
    assert!(error.contains("slices.jsonl: line 1 is not a slice"), "{error}");
}

#[test]
fn many_starts_show_their_spread() {
    let home = brunt_testkit::home();
    let store = sliced(home.path(), "[load]\nconnections = 80", &TARGETS[..2]);
    let wide = || report::text(&report::read(store.path()).unwrap(), Style::Plain, Width::Wide);
    assert!(!wide().contains("starts, %"), "three starts tell little");
    let place = store.slices("");
    let mut slices = record::read(&place).unwrap();
    for (slice, index) in slices.iter_mut().zip(0..) {
        slice.start = 1 + index / 12;
    }
    fs::write(&place, slices.iter().flat_map(Slice::line).collect::<Vec<u8>>()).unwrap();
    let text = wide();
    let row = text.lines().find(|line| line.starts_with(" uring ")).unwrap();
    assert!(text.contains("starts, %") && row.contains(" [0.0 "), "{text}");
}

#[test]
fn page_and_chart_hold_ratios_and_rounds() {
    let home = brunt_testkit::home();
    let store = sliced(home.path(), TWO_LOADS, TARGETS);
    let read = report::read(store.path()).unwrap();
    report::write(&read, &store).unwrap();
    let svg = fs::read_to_string(store.path().join("charts/ratio-to-epoll.svg")).unwrap();
    for word in
        ["closed loop: uring: rate x1.198 [", "CPU time a request x0.831 [", "20k req/s offered", "band: the margin"]
    {
        assert!(svg.contains(word), "'{word}' is not in {svg}");
    }
    let markdown = fs::read_to_string(store.path().join("report.md")).unwrap();
    assert!(markdown.contains("![Ratio to epoll](charts/ratio-to-epoll.svg)"), "{markdown}");
    let page = fs::read_to_string(store.path().join(brunt_lab::run_directory::PAGE_FILE)).unwrap();
    let answer = page.find("<p class=\"answer\">closed loop: uring serves 1.198x epoll").unwrap();
    assert!(Some(answer) < page.find("<table"), "the answer is in the head");
    assert!(
        page.contains("<b class=v-no-difference>no difference</b>") && page.contains("id=\"every\""),
        "no verdict or switch"
    );
    let (_, data) = page.split_once("id=\"data\">").unwrap();
    let data: serde_json::Value = serde_json::from_str(data.split_once("</script>").unwrap().0).unwrap();
    let rounds = data["rounds"].as_array().unwrap();
    assert_eq!(rounds.len(), 2);
    // Without the round that does not count.
    let counted = (STARTS * ROUNDS - 1) as usize;
    assert_eq!(
        (rounds[0]["at"].as_array().unwrap().len(), rounds[0]["starts"].as_array().unwrap().len()),
        (counted, 2)
    );
    let series = rounds[1]["series"].as_array().unwrap();
    assert_eq!(series.len(), 2 * (TARGETS.len() - 1));
    for ratio in series[0]["ratios"].as_array().unwrap() {
        assert!((ratio.as_f64().unwrap() / 0.833 - 1.0).abs() < 0.03, "{series:?}");
    }
}
