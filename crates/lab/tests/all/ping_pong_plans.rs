//! The built-in ping-pong plans: their grids hold every row of the tables that monoio published of its benchmark, and all of it
//! can be scheduled on a machine with enough cores.

use brunt_lab::plan::{Plan, Style, builtin, read};
use brunt_lab::schedule::{Cell, Machine, Schedule, SkipReason, pairs, skipped_lines};
use std::collections::{BTreeMap, BTreeSet};

const PLANS: [&str; 3] = ["ping-pong-peak", "ping-pong-fixed-rate", "ping-pong-scaling"];

/// Servers of the published tables and those beside them.
const TARGETS: [&str; 11] = [
    "brunt-uring",
    "brunt-epoll",
    "brunt-tokio",
    "tokio-current-thread",
    "tokio-multi-thread",
    "monoio",
    "glommio",
    "compio",
    "go",
    "epoll-loop",
    "ring-loop",
];

fn plan(name: &str) -> Plan {
    read(name, builtin::text(name).unwrap()).unwrap_or_else(|fault| panic!("{fault}"))
}

fn schedule(plan: &Plan, cores: usize) -> Schedule {
    let machine = Machine { cores: (0..cores).collect(), open_files: 1 << 20 };
    Schedule::new(plan, &machine, &BTreeMap::new(), &[]).unwrap()
}

/// Cores of the server, size, connections for each generator core, requests a second for each generator core (0: closed loop).
/// The generator has four cores for each of the server.
type Load = (usize, &'static str, u64, u64);

/// The tables without a limit of rate, without the summary of 100 B.
fn peak() -> Vec<Load> {
    let kibibyte =
        [1, 4].into_iter().flat_map(|cores| (80..=170).step_by(10).map(move |each| (cores, "1KiB", each, 0)));
    let short = [8, 16].into_iter().flat_map(|cores| (50..=150).step_by(10).map(move |each| (cores, "100B", each, 0)));
    kibibyte.chain(short).collect()
}

/// The tables with a limit of rate.
fn fixed_rate() -> Vec<Load> {
    let tables: [(usize, u64, &[u64]); 4] = [
        (1, 250, &[10, 15, 20, 30, 40, 50, 60]),
        (1, 80, &[4, 8, 12, 24]),
        (4, 80, &[4, 8, 12, 24, 30]),
        (4, 250, &[4, 8, 12, 24, 30, 36, 42, 48]),
    ];
    let rows = |(cores, each, rates): (usize, u64, &[u64])| {
        rates.iter().map(|rate| (cores, "1KiB", each, rate * 1000)).collect::<Vec<_>>()
    };
    tables.into_iter().flat_map(rows).collect()
}

/// The summary of 100 B: the best connections for each generator core of Tokio, Glommio and Monoio, by cores of the server.
fn scaling() -> Vec<Load> {
    let best = [
        (1, [130, 100, 150]),
        (2, [90, 100, 150]),
        (4, [90, 100, 140]),
        (8, [90, 90, 130]),
        (12, [90, 90, 120]),
        (16, [70, 80, 110]),
        (20, [60, 80, 100]),
    ];
    best.into_iter().flat_map(|(cores, each)| each.map(|each| (cores, "100B", each, 0))).collect()
}

fn is_load(cell: &Cell, (cores, size, each, rate): Load) -> bool {
    let (server, client) = (cell.placement.server.count(), cell.placement.client.count());
    let rate = Some(rate).filter(|rate| *rate > 0).map(|rate| (rate * client as u64) as f64);
    let is_size = cell.value("size").as_deref() == Some(size);
    server == cores
        && client == 4 * cores
        && is_size
        && cell.connections() == each * client as u64
        && cell.rate() == rate
}

#[test]
fn the_plans_hold_every_row_of_the_published_tables_for_every_server() {
    for (name, loads) in PLANS.into_iter().zip([peak(), fixed_rate(), scaling()]) {
        let plan = plan(name);
        assert_eq!(plan.style, Some(Style::PingPong), "{name}");
        assert_eq!(plan.targets.iter().map(|target| target.name.as_str()).collect::<Vec<_>>(), TARGETS, "{name}");
        let schedule = schedule(&plan, 100);
        let cells = schedule.selected();
        for (target, load) in TARGETS.into_iter().flat_map(|target| loads.iter().map(move |load| (target, *load))) {
            let found = cells.iter().filter(|cell| cell.target == target && is_load(cell, load)).count();
            assert_eq!(found, 1, "{name}: {target} {load:?}");
        }
    }
}

#[test]
fn the_whole_grid_is_scheduled_on_a_machine_with_enough_cores() {
    for (name, cores) in PLANS.into_iter().zip([80, 20, 100]) {
        let plan = plan(name);
        let schedule = schedule(&plan, cores);
        assert!(schedule.skipped.is_empty(), "{name}: {:?}", schedule.skipped);
        assert_eq!(schedule.order.len(), schedule.all.run.len() * plan.repeats as usize, "{name}");
        assert_eq!(schedule.all.run.len() % TARGETS.len(), 0, "{name}: each load is made on every target");
        for cell in schedule.selected() {
            let (placed, settings) = (&cell.placement, &cell.settings);
            let id = cell.id();
            assert!(!placed.shared() && !placed.free, "{id}: {placed:?}");
            assert_eq!(placed.server.count(), settings.server_cores, "{id}");
            let ratio = if cell.axes().contains("client_cores=4x") { 4 } else { 1 };
            assert_eq!(placed.client.count(), ratio * settings.server_cores, "{id}");
            assert!(placed.server.0.iter().chain(&placed.client.0).all(|core| *core < cores), "{id}: {placed:?}");
        }
    }
}

#[test]
fn a_machine_with_two_cores_makes_the_loads_that_fit_and_says_why_it_skips_the_others() {
    for name in PLANS {
        let plan = plan(name);
        let (few, all) = (schedule(&plan, 2), schedule(&plan, 100));
        assert!(few.selected().iter().all(|cell| cell.placement.server.count() == 1), "{name}");
        let ids = |schedule: &Schedule| -> BTreeSet<String> {
            let run = schedule.selected().into_iter().map(|cell| cell.id().to_owned());
            run.chain(schedule.skipped.iter().map(|cell| cell.id.clone())).collect()
        };
        assert_eq!(ids(&few), ids(&all), "{name}: each cell is made or skipped");
        assert!(!few.order.is_empty() && !few.skipped.is_empty(), "{name}");
        for cell in &few.skipped {
            let SkipReason::Cores(why) = &cell.why else { panic!("{name}: {cell:?}") };
            let wanted = pairs(&cell.id).find(|(key, _)| *key == "server_cores").unwrap().1;
            assert_eq!((why.server.to_string().as_str(), why.have), (wanted, 2), "{cell:?}");
            assert!(why.server + why.client > 2, "{cell:?}");
        }
        let lines = skipped_lines(&few.skipped);
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert!(lines[0].contains("1+4") && lines[0].ends_with("this machine has 2"), "{lines:?}");
    }
}
