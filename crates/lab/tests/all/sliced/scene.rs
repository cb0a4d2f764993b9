//! A directory of a sliced experiment as a run leaves it: slices of every load, and a result of each start of each cell.

use crate::common::summary::summary;
use brunt_lab::plan::read;
use brunt_lab::run_directory::{Experiment, RunDirectory, SCHEMA};
use brunt_lab::schedule::{Machine, cells};
use brunt_results::directory::Directory;
use brunt_results::env::{Env, Idle};
use brunt_results::judge::judge;
use brunt_results::result::{self, Latency, Requests, Server};
use brunt_results::{RunResult, hlog};
use brunt_slices::Slice;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

pub const STARTS: u32 = 3;
pub const ROUNDS: u32 = 14;
const WINDOW_US: u64 = 100_000;

/// A target: its name, its rate and its CPU time a request as factors of the first target's.
pub type Target = (&'static str, f64, f64);

/// Faster at less cost; the same; slower.
pub const TARGETS: &[Target] = &[("epoll", 1.0, 1.0), ("uring", 1.2, 0.83), ("twin", 1.0, 1.0), ("tokio", 0.9, 1.08)];

/// A number from -1 to 1 that depends on its arguments alone.
fn noise(seeds: &[u64]) -> f64 {
    let hash = seeds.iter().fold(7u64, |hash, seed| (hash ^ seed).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29));
    (hash.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 11) as f64 / (1u64 << 52) as f64 - 1.0
}

/// Makes the directory of a plan with these loads and targets.
pub fn sliced(home: &Path, load: &str, targets: &[Target]) -> RunDirectory {
    let mut text =
        format!("name = \"sliced\"\ndescription = \"made by hand\"\nbaseline = \"{}\"\n{load}\n", targets[0].0);
    for (name, ..) in targets {
        text += &format!("[[target]]\nname = \"{name}\"\ncommand = [\"sh\", \"{{port}}\"]\n");
    }
    let plan = read("p", &text).unwrap_or_else(|fault| panic!("{fault}"));
    let cells = cells(&plan, &Machine { cores: vec![0, 1], open_files: 1 << 20 }, &BTreeMap::new());
    let store = RunDirectory::at(home.join("run"));
    let _lock = store.open().unwrap();
    let order = cells.run.iter().flat_map(|cell| (1..=STARTS).map(move |start| format!("{}/{start}", cell.id())));
    let experiment = Experiment {
        schema: SCHEMA.into(),
        name: plan.name.clone(),
        description: plan.description.clone(),
        plan_hash: "0123456789abcdef".into(),
        repeats: STARTS,
        baseline: plan.baseline.clone(),
        margin: Some(0.03),
        precision: Some(0.015),
        command: ["brunt", "run", "p.toml"].map(str::to_owned).to_vec(),
        started_unix_s: 1_638_373_800,
        order: order.collect(),
        cells: cells.clone(),
        ..Experiment::default()
    };
    store.begin(&experiment, &text).unwrap();
    let mut loads: Vec<(String, Option<f64>)> = Vec::new();
    for cell in &cells.run {
        let load = (cell.combination().to_owned(), cell.rate());
        if !loads.contains(&load) {
            loads.push(load);
        }
        let target = targets.iter().find(|(name, ..)| *name == cell.target).unwrap();
        for start in 1..=STARTS {
            trial(&Directory::create(store.trial(cell.id(), start)).unwrap(), target, cell.rate());
        }
    }
    for (load, offered) in loads {
        let place = store.slices(&load);
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        let lines = slices(targets, offered)
            .iter()
            .map(|slice| serde_json::to_string(slice).unwrap() + "\n")
            .collect::<String>();
        fs::write(place, lines).unwrap();
    }
    store
}

fn slices(targets: &[Target], offered: Option<f64>) -> Vec<Slice> {
    let mut slices = Vec::new();
    for (start, round) in (1..=STARTS).flat_map(|start| (1..=ROUNDS).map(move |round| (start, round))) {
        // One slow spell, which hits all targets.
        let speed = if start == 2 && round > 9 { 0.7 } else { 1.0 };
        for position in 0..targets.len() as u32 {
            let number = (position + round) as usize % targets.len();
            let seeds = [u64::from(start), u64::from(round), number as u64];
            let at_us = u64::from(round * targets.len() as u32 + position) * 112_000;
            slices.push(slice(
                targets[number],
                offered,
                speed * (1.0 + 0.01 * noise(&seeds)),
                [start, round, position],
                at_us,
            ));
        }
    }
    // The machine took most of one slice.
    slices[9].lost_us = 0.31 * slices[9].busy_us as f64;
    slices
}

fn slice(
    (name, rate, cost): Target,
    offered: Option<f64>,
    speed: f64,
    [start, round, position]: [u32; 3],
    at_us: u64,
) -> Slice {
    let completed = (offered.unwrap_or(100e3 * rate * speed) * WINDOW_US as f64 / 1e6).round() as u64;
    let latency = summary(completed, 800.0 / rate / speed);
    let mut histogram = brunt_results::latency::new_histogram();
    for step in 1..=100u64 {
        let us = latency.p50_us.unwrap() * (0.5 + step as f64 / 100.0);
        histogram.record_n((us * 1e3) as u64, completed / 100).unwrap();
    }
    Slice {
        start,
        round,
        position,
        target: name.into(),
        at_us,
        window_us: WINDOW_US,
        busy_us: WINDOW_US + 10_000,
        completed,
        replies: completed + completed / 10,
        server_cpu_us: Some(9.0 * cost / speed * (completed + completed / 10) as f64),
        generator_cpu_us: 60_000.0,
        generator_percent: 60.0,
        lost_us: 0.002 * WINDOW_US as f64,
        rss_bytes: Some(5 << 20),
        response: hlog::encode(&histogram),
        latency,
        ..Slice::default()
    }
}

fn trial(directory: &Directory, (name, rate, cost): &Target, offered_rate: Option<f64>) {
    let rate_of_it = offered_rate.unwrap_or(100e3 * rate);
    let response = summary((rate_of_it * 1.4) as u64, 800.0 / rate);
    let mut result = RunResult {
        load: result::Load { measured_s: 1.4, ..Default::default() },
        requests: Requests { completed: response.count, rate: rate_of_it, offered_rate, ..Default::default() },
        latency: Latency { response: response.clone(), service: response, ..Default::default() },
        server: Server {
            cpu_user_percent: Some(10.0),
            cpu_system_percent: Some(60.0),
            rss_bytes: Some(5 << 20),
            cpu_us_per_request: Some(9.0 * cost),
            ..Default::default()
        },
        ..RunResult::new("brunt")
    };
    result.verdict = judge(&result, None);
    directory.write_result(&result).unwrap();
    let env = Env {
        brunt: "0.1.0".into(),
        kernel: Some("Linux 6.18.0".into()),
        cpu: Some("A CPU".into()),
        server_cpu_source: Some("task clock (perf events)".into()),
        // One target spins.
        idle: (*name == "tokio").then(|| Idle { cpu_percent: 99.0, frozen_by: Some("SIGSTOP".into()) }),
        ..Default::default()
    };
    directory.write_env(&env).unwrap();
}
