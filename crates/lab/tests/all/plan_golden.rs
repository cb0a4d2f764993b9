//! The normal form of settings: ids of cells, their stored settings and the hash of their plan, on which directories of earlier
//! runs and the history depend; and the command lines of testers.
//!
//! `golden/plans.txt` has a line for each plan of `experiments/` and `golden/settings.txt` every setting of `golden/every-key.toml`.
//! Of long lists it has the number and a hash. `BRUNT_GOLDEN=write` writes both; a change of ids, settings or plan in
//! them orphans what users have measured.

use crate::common::{golden, golden_file};
use brunt_lab::plan::{Plan, read};
use brunt_lab::run::endpoint::Endpoint;
use brunt_lab::schedule::{Cell, Machine, cells};
use brunt_lab::testers::Tester;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

fn clone(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

fn plan(path: &Path) -> Plan {
    read("plan.toml", &fs::read_to_string(path).unwrap()).unwrap_or_else(|fault| panic!("{}: {fault}", path.display()))
}

fn cells_of(plan: &Plan) -> Vec<Cell> {
    let machine = Machine { cores: (0..96).collect(), open_files: 1 << 22 };
    cells(plan, &machine, &BTreeMap::new()).run
}

/// FNV-1a.
fn hash(lines: &[String]) -> String {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    format!("{:016x}", lines.join("\n").bytes().fold(0xcbf2_9ce4_8422_2325, step))
}

fn settings(cell: &Cell) -> String {
    serde_json::to_string(&cell.settings).unwrap()
}

fn words(cell: &Cell) -> String {
    let command = Tester::brunt("brunt").command(cell, &[], &Endpoint::here(7100, 9), 1, Path::new("out"));
    let (program, words) = command.unwrap_or_else(|why| panic!("{}: {why}", cell.id()));
    format!("{} {}", program.display(), words.join(" "))
}

#[test]
fn ids_settings_and_hashes_of_plans_stay_as_they_are() {
    let folder = fs::read_dir(clone("experiments")).unwrap().map(|entry| entry.unwrap().path());
    let mut plans: Vec<PathBuf> = folder.filter(|path| path.extension().is_some_and(|is| is == "toml")).collect();
    plans.sort();
    let mut text = String::new();
    for path in plans {
        let (name, plan) = (path.file_stem().unwrap().to_string_lossy().into_owned(), plan(&path));
        let cells = cells_of(&plan);
        let of = |line: &dyn Fn(&Cell) -> String| hash(&cells.iter().map(line).collect::<Vec<_>>());
        let ids = of(&|cell| cell.id().to_owned());
        let (settings, words) = (of(&|cell| settings(cell)), of(&|cell| words(cell)));
        let (plan, count) = (plan.hash(), cells.len());
        text += &format!("{name}: plan {plan}, {count} cells, ids {ids}, settings {settings}, testers {words}\n");
    }
    golden("plans.txt", &text);
}

/// Every setting that plans resolve themselves. All at once exclude each other, so the plan has them in several cells.
#[test]
fn every_setting_has_its_normal_form() {
    let plan = plan(&golden_file("every-key.toml"));
    let mut text = format!("plan {}\n", plan.hash());
    let cells = cells_of(&plan);
    for name in brunt_lab::plan::settings::TABLE.iter().map(|setting| setting.key.name) {
        let mut values: Vec<String> = cells.iter().filter_map(|cell| cell.settings.get(name)).collect();
        values.sort();
        values.dedup();
        assert!(!values.is_empty(), "every-key.toml has no {name}");
        text += &format!("{name} = {}\n", values.join(" | "));
    }
    for cell in &cells {
        text += &format!("\n{}\n{}\n{}\n", cell.id(), settings(cell), words(cell));
    }
    golden("settings.txt", &text);
}
