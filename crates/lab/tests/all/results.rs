//! Published results can be rendered, with the published values: those of `docs/results`, and those of earlier versions in
//! `tests/published`.

use brunt_lab::plan::Style;
use brunt_lab::report::{self, Report};
use brunt_lab::run_directory::RunDirectory;
use brunt_results::directory::Directory;
use std::fs;
use std::path::{Path, PathBuf};

/// The folder and all folders below it.
fn folders(folder: &Path) -> Vec<PathBuf> {
    let mut all = vec![folder.to_owned()];
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut below: Vec<PathBuf> = entries.filter(|path| path.is_dir()).collect();
    below.sort();
    all.extend(below.iter().flat_map(|path| folders(path)));
    all
}

/// All folders of published results.
fn published() -> Vec<PathBuf> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    ["../../docs/results", "tests/published"].iter().flat_map(|root| folders(&own.join(root))).collect()
}

/// Headers and cells of a report's last table.
fn columns(markdown: &str) -> Vec<(String, Vec<String>)> {
    let cells = |line: &str| line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect::<Vec<_>>();
    let lines: Vec<&str> = markdown.lines().collect();
    let rule = lines.iter().rposition(|line| line.starts_with("| --") || line.starts_with("| :-")).expect("a table");
    let rows: Vec<Vec<String>> =
        lines[rule + 1..].iter().take_while(|line| line.starts_with('|')).map(|l| cells(l)).collect();
    let column = |(at, name): (usize, String)| (name, rows.iter().map(|row| row[at].clone()).collect());
    cells(lines[rule - 1]).into_iter().enumerate().map(column).collect()
}

fn rendered(folder: &Path) -> Report {
    let report = report::read(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    assert!(!report.rows.is_empty() && report.not_run == 0, "{}", folder.display());
    for (_, style) in Style::ALL {
        assert!(report::text(&report, style, report::Width::Within(None)).lines().count() > report.rows.len());
    }
    let page = report::page(&report, &RunDirectory::at(folder), false).unwrap();
    assert!(report.rows.iter().all(|row| page.contains(&row.cell.target)));
    for chart in report::charts(&report) {
        chart.svg().unwrap();
    }
    report
}

#[test]
fn published_runs_render_with_the_published_values() {
    let mut runs = 0;
    for folder in published().iter().filter(|folder| folder.join("experiment.json").exists()) {
        let report = rendered(folder);
        let now = columns(&report::markdown(&report, Style::Plain));
        let then = columns(&fs::read_to_string(folder.join("README.md")).unwrap());
        for (name, cells) in &then {
            let same =
                now.iter().find(|(now, _)| now == name).unwrap_or_else(|| panic!("no column '{name}' in {now:?}"));
            assert_eq!(&same.1, cells, "{}: {name}", folder.display());
        }
        runs += 1;
    }
    assert!(runs > 1, "a run of this version and one of an earlier version are published with their trials");
}

#[test]
fn published_results_are_readable() {
    let places = published();
    let results: Vec<&PathBuf> = places.iter().filter(|folder| folder.join("result.json").exists()).collect();
    assert!(!results.is_empty());
    for folder in results {
        let directory = Directory::open(folder);
        let result = directory.read_result().unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
        assert!(result.requests.completed > 0 && directory.read_env().is_ok(), "{}", folder.display());
    }
}
