//! The plans that repeat the benchmark of a million connections in Go: its thirteen programs, and the six rows of its table.

use brunt_lab::plan::{Plan, read};
use brunt_lab::run::endpoint::Endpoint;
use brunt_lab::schedule::{Cell, Machine, Schedule};
use brunt_lab::testers::Tester;
use std::{collections::BTreeMap, fs, path::Path, time::Duration};

fn plan(name: &str) -> Plan {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments").join(name);
    read(name, &fs::read_to_string(file).unwrap()).unwrap_or_else(|fault| panic!("{fault}"))
}

fn schedule(plan: &Plan) -> Schedule {
    let machine = Machine { cores: vec![0, 1], open_files: 20_000 };
    Schedule::new(plan, &machine, &BTreeMap::new(), &[]).unwrap()
}

fn load(cell: &Cell) -> String {
    Tester::brunt("brunt").args(cell, &Endpoint::here(7100, 1), 7, "out".as_ref()).unwrap().join(" ")
}

#[test]
fn each_of_the_thirteen_programs_is_a_row_that_two_cores_can_run() {
    let plan = plan("server-models.toml");
    let schedule = schedule(&plan);
    assert!(!plan.is_sliced() && schedule.skipped.is_empty());
    for number in 1..=13 {
        let prefix = format!("{number}-");
        let names: Vec<&str> =
            plan.targets.iter().map(|target| target.name.as_str()).filter(|name| name.starts_with(&prefix)).collect();
        let [name] = names[..] else { panic!("program {number} is {names:?}") };
        let cells: Vec<&Cell> = schedule.selected().into_iter().filter(|cell| cell.target == name).collect();
        assert!(cells.len() >= 3, "{name}: {}", cells.len());
        let work = match number {
            10 | 11 => "sleep:10ms",
            12 | 13 => "sha256:12",
            _ => "none",
        };
        assert!(cells.iter().any(|cell| cell.value("work").as_deref() == Some(work)), "{name}");
        for cell in cells {
            let words = load(cell);
            assert_eq!(words.contains("--backend epoll"), [4, 5].contains(&number), "{words}");
            assert_eq!(words.contains("-t 4"), number == 5, "{words}");
            // Less than a request within a day.
            assert_eq!(cell.rate().is_some_and(|rate| rate < 1.0 / 86_400.0), number <= 2, "{words}");
        }
    }
}

#[test]
fn the_thirteen_programs_take_less_than_half_an_hour() {
    let plan = plan("server-models.toml");
    let schedule = schedule(&plan);
    let loads: Duration = schedule.order.iter().map(|trial| schedule.load_time(*trial)).sum();
    assert!(loads < Duration::from_secs(25 * 60), "{loads:?}");
}

#[test]
fn the_ladder_has_one_epoll_loop_at_both_ends_and_only_where_one_process_can_hold_all() {
    let plan = plan("million-connections.toml");
    let schedule = schedule(&plan);
    let cells: Vec<&Cell> = schedule.selected().into_iter().filter(|cell| cell.target == "epoll-both").collect();
    assert_eq!(cells.iter().map(|cell| cell.connections()).collect::<Vec<_>>(), [1000, 10_000]);
    assert!(cells.into_iter().all(|cell| load(cell).contains("--backend epoll")));
}
