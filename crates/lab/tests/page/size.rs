//! Page sizes: small for a usual experiment, mailable for more than a thousand trials.

use crate::scene::{Scene, leave};
use crate::{data, model};
use brunt_lab::plan::{builtin, read};
use brunt_lab::report::{self, Row};
use brunt_lab::run_directory::{RunDirectory, TrialOutcome};
use brunt_lab::schedule::{Machine, cells};
use brunt_results::ValidityIssue;
use std::{collections::BTreeMap, path::Path};

/// A hash from 0 to 1 with as many digits as measured values.
fn chance(number: u64) -> f64 {
    (number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 11) as f64 / (1u64 << 53) as f64
}

/// A run of `runtime-peers` without its last two targets: 198 cells with six repeats each.
fn large(home: &Path) -> Scene {
    const REPEATS: u32 = 6;
    let text = include_str!("../../../../experiments/runtime-peers.toml");
    let mut plan = read("p", text).unwrap_or_else(|fault| panic!("{fault}"));
    plan.targets.truncate(9);
    let cells = cells(&plan, &Machine { cores: vec![0, 1], open_files: 20_000 }, &BTreeMap::new());
    let store = RunDirectory::at(home.join("large"));
    let _lock = store.open().unwrap();
    let mut number = 0;
    let mut trial = |cell: &brunt_lab::schedule::Cell, repeat: u32| {
        number += 1;
        let rate = cell.rate().unwrap_or(60_000.0) * (1.0 + chance(number));
        let figures = model::Figures { rate, p50_us: 40.0 + 9e3 * chance(number + 7), cpu_us: 3.0 + chance(number) };
        let mut result = model::result(figures, cell.rate());
        if number % 4 > 0 {
            result.verdict.add(&ValidityIssue::Steal { percent: 5.0 + 30.0 * chance(number + 3) });
        }
        leave(&store.trial(cell.id(), repeat), rate, 1e3 * chance(number));
        (repeat, TrialOutcome::Done(Box::new(result)))
    };
    let row =
        |cell: &brunt_lab::schedule::Cell| Row::new(cell.clone(), (1..=REPEATS).map(|n| trial(cell, n)).collect());
    let rows: Vec<Row> = cells.run.iter().map(row).collect();
    assert_eq!(rows.iter().map(|row| row.done).sum::<usize>(), 1188);
    Scene { report: model::report_of(&plan.name, cells, rows, None), store }
}

#[test]
fn a_page_of_1188_trials_is_below_half_a_megabyte() {
    let home = brunt_testkit::home();
    let page = large(home.path()).page();
    let pictures = page.split_once("<noscript>").map_or("", |(_, rest)| rest.split_once("</noscript>").unwrap().0);
    let bare = page.len() - pictures.len();
    // SVG charts fill the page up to 480 KB, so the rest is bounded separately.
    assert!(page.len() < 500_000 && bare < 420_000, "{} bytes, {bare} without pictures", page.len());
    // Nothing is missing.
    let data = data(&page);
    let rows = data["rows"].as_array().unwrap();
    assert_eq!((rows.len(), page.matches("data-row=").count() >= 198), (198, true));
    for row in rows {
        assert_eq!(row["trials"].as_array().unwrap().len(), 6);
        assert!(row["spectrum"].as_array().unwrap().len() > 20 && row["issues"].as_array().is_some(), "{row}");
        assert_eq!(row["seconds"]["rate"].as_array().unwrap().len(), 4);
    }
}

#[test]
fn small_experiments_give_small_pages_and_huge_ones_omit_charts() {
    let page = |cores| {
        let report = model::run(builtin::text("ping-pong-peak").unwrap(), cores);
        let home = brunt_testkit::home();
        report::page(&report, &RunDirectory::at(home.path()), false).unwrap()
    };
    let (small, huge) = (page(2), page(96));
    assert!(small.len() < 250_000 && !small.contains("see the folder charts"), "{}", small.len());
    assert!(huge.contains("see the folder charts"), "{}", huge.len());
}
