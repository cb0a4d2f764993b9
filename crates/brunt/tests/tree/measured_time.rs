//! The list of tests that assert measured time, `measured_time.tsv`, names tests that exist.
//!
//! A test that moves into simulated time, or goes, leaves the list; a new one that measures time enters it, with its reason.

use super::layers::crates;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

const KINDS: [&str; 4] = ["bound", "limit", "window", "lower"];
const FATES: [&str; 2] = ["judged", "real"];

#[test]
fn listed_tests_exist_and_have_a_reason() {
    let list = fs::read_to_string(crates().join("brunt/tests/tree/measured_time.tsv")).unwrap();
    let (mut faults, mut seen, mut counts) = (Vec::new(), BTreeSet::new(), BTreeMap::new());
    for line in list.lines().filter(|line| !line.starts_with('#')) {
        let columns: Vec<&str> = line.split('\t').collect();
        let [file, test, kind, fate, asserts, reason] = columns[..] else {
            faults.push(format!("{} columns instead of six: {line}", columns.len()));
            continue;
        };
        let text = fs::read_to_string(crates().join("..").join(file)).unwrap_or_default();
        let is_name = |c: char| c.is_alphanumeric() || c == '_';
        if !text.split(|c| !is_name(c)).any(|word| word == test) {
            faults.push(format!("{file} has no test {test}"));
        }
        if !KINDS.contains(&kind) || !FATES.contains(&fate) || asserts.is_empty() || reason.is_empty() {
            faults.push(format!("{test}: kind, fate, assertion or reason is missing: {line}"));
        }
        if !seen.insert((file, test)) {
            faults.push(format!("{test} is listed twice"));
        }
        *counts.entry((kind, fate)).or_insert(0) += 1;
    }
    counts.iter().for_each(|((kind, fate), count)| println!("{count:4} {kind}, {fate}"));
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}
