//! What continuous integration sees of a load: `--junit`, annotations, the summary of a job.

use crate::shared::target::{Target, load};
use brunt_testkit::{assert_code, text};
use std::fs;

#[test]
fn bounds_are_test_cases_annotations_and_lines_of_a_summary() {
    let target = Target::start();
    let home = brunt_testkit::home();
    let (junit, summary) = (home.path().join("junit.xml"), home.path().join("summary.md"));
    fs::write(&summary, "before\n").unwrap();
    let flags = "-n 200 -c 2 --warmup 0s --no-meter --allow-untrusted --quiet --fail-if p50>1ns --fail-if failed>0";
    let mut command = load(&target.url(), flags);
    command.arg("--junit").arg(&junit).env("GITHUB_ACTIONS", "true").env("GITHUB_STEP_SUMMARY", &summary);
    let output = command.output().unwrap();
    assert_code(&output, &[99]);
    // Python's own parser reads the file, as most readers of JUnit files do.
    let read = "import sys, xml.etree.ElementTree as e\n\
                r = e.parse(sys.argv[1]).getroot()\n\
                print(r.get('tests'), r.get('failures'), [(c.get('name'), [x.tag for x in c]) for c in r.iter('testcase')])";
    let read = std::process::Command::new("python3").args(["-c", read]).arg(&junit).output().unwrap();
    let expected = "3 1 [('p50>1ns', ['failure']), ('failed>0', []), ('verdict', [])]";
    assert_eq!(String::from_utf8_lossy(&read.stdout).trim(), expected, "{}", text(&read));
    let error = "::error title=brunt load%3A p50>1ns::p50>1ns: it was ";
    assert!(String::from_utf8_lossy(&output.stderr).contains(error), "{}", text(&output));
    let summary = fs::read_to_string(&summary).unwrap();
    assert!(summary.starts_with("before\n### brunt load\n\n- :x: `p50>1ns`: "), "{summary}");
    assert!(summary.contains("- :white_check_mark: `failed>0`") && summary.contains("closed loop:"), "{summary}");
}

#[test]
fn without_these_variables_nothing_is_annotated_and_a_file_that_cannot_be_written_is_an_error() {
    let target = Target::start();
    let flags = "-n 20 -c 1 --warmup 0s --no-meter --allow-untrusted --quiet --fail-if p50>1ns";
    let mut command = load(&target.url(), flags);
    let output = command.env_remove("GITHUB_ACTIONS").env_remove("GITHUB_STEP_SUMMARY").output().unwrap();
    assert!(!text(&output).contains("::error"), "{}", text(&output));
    let output = load(&target.url(), flags).args(["--junit", "/proc/none/junit.xml"]).output().unwrap();
    assert_code(&output, &[1]);
    assert!(text(&output).contains("/proc/none/junit.xml"), "{}", text(&output));
}
