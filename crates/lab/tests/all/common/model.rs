//! Reports with modelled figures, for plans on machines of any size.

use brunt_lab::plan::read;
use brunt_lab::report::{Report, Row};
use brunt_lab::run_directory::{Experiment, SCHEMA, TrialOutcome};
use brunt_lab::schedule::{Cell, Cells, Machine, cells};
use brunt_results::env::Env;
use brunt_results::judge::judge;
use brunt_results::result::{self, Latency, Requests, Server};
use brunt_results::{LatencySummary, RunResult};
use std::collections::BTreeMap;

#[derive(Debug, Clone, Copy)]
pub struct Figures {
    pub rate: f64,
    pub p50_us: f64,
    pub cpu_us: f64,
}

pub fn result(figures: Figures, offered_rate: Option<f64>) -> RunResult {
    let Figures { rate, p50_us, cpu_us } = figures;
    let response = LatencySummary {
        count: (rate * 3.0) as u64,
        mean_us: Some(p50_us),
        p50_us: Some(p50_us),
        p90_us: Some(p50_us * 1.5),
        p99_us: Some(p50_us * 3.0),
        p999_us: Some(p50_us * 5.0),
        max_us: Some(p50_us * 9.0),
        ..LatencySummary::default()
    };
    let mut result = RunResult {
        load: result::Load { measured_s: 3.0, ..Default::default() },
        requests: Requests { completed: response.count, rate, offered_rate, ..Default::default() },
        latency: Latency { response: response.clone(), service: response, ..Default::default() },
        server: Server {
            cpu_user_percent: Some(rate * cpu_us / 4e4),
            cpu_system_percent: Some(rate * cpu_us * 3.0 / 4e4),
            cpu_us_per_request: Some(cpu_us),
            ..Default::default()
        },
        ..RunResult::new("brunt")
    };
    result.verdict = judge(&result, None);
    result
}

/// A server with a CPU cost per request and a small loss per core and connection.
fn modelled(cell: &Cell, cost_us: f64, repeat: u32) -> TrialOutcome {
    let cores = cell.placement.server.count() as f64;
    let connections = cell.connections() as f64;
    let most = cores.powf(1.1 - cost_us / 50.0) * 1e6 / (cost_us * (1.0 + connections / cores / 1e4));
    let closed = most * connections / (connections + 30.0 * cores);
    let rate = cell.rate().map_or(closed, |offered| offered.min(most)) * (1.0 + 0.01 * f64::from(repeat));
    let p50_us =
        cell.rate().map_or(connections / closed * 1e6, |offered| 40.0 + 30.0 / (1.0 - (offered / most).min(0.999)));
    let wake_up = 4.0 * (1.0 - rate / most / 1.1).max(0.0);
    TrialOutcome::Done(Box::new(result(Figures { rate, p50_us, cpu_us: cost_us + wake_up }, cell.rate())))
}

fn env() -> Env {
    Env {
        brunt: "0.1.0".into(),
        kernel: Some("Linux 6.18.0 #1 SMP".into()),
        cpu: Some("A CPU <of some kind> & more".into()),
        cpus_online: Some(2),
        ..Default::default()
    }
}

/// A run of these cells, without the order of its trials.
pub fn experiment(name: &str, repeats: u32, cells: Cells) -> Experiment {
    Experiment {
        schema: SCHEMA.into(),
        name: name.into(),
        plan_hash: "0123456789abcdef".into(),
        seed: 1,
        repeats,
        command: vec!["brunt".into(), "run".into()],
        started_unix_s: 1_638_373_800,
        cells,
        ..Experiment::default()
    }
}

pub fn report_of(name: &str, cells: Cells, rows: Vec<Row>, best_over: Option<String>) -> Report {
    Report {
        experiment: Experiment { best_over, ..experiment(name, 3, cells) },
        rows,
        comparisons: Vec::new(),
        by_trials: Vec::new(),
        differences: Vec::new(),
        not_run: 0,
        skipped: Vec::new(),
        envs: vec![env()],
        timeline: None,
        published: Vec::new(),
    }
}

/// Report of a plan on a machine with that many cores, with a result for each trial.
pub fn run(plan: &str, cores: usize) -> Report {
    let plan = read("p", plan).unwrap_or_else(|fault| panic!("{fault}"));
    let cells = cells(&plan, &Machine { cores: (0..cores).collect(), open_files: 1 << 20 }, &BTreeMap::new());
    let cost = |cell: &Cell| 5.0 + plan.targets.iter().position(|target| target.name == cell.target).unwrap() as f64;
    let trials = |cell: &Cell| (1..=3).map(|repeat| (repeat, modelled(cell, cost(cell), repeat))).collect();
    let rows = cells.run.iter().map(|cell| Row::new(cell.clone(), trials(cell))).collect();
    report_of(&plan.name, cells, rows, plan.best_over)
}

pub fn plan(load: &str, targets: &[&str]) -> String {
    let targets: String = targets
        .iter()
        .map(|name| format!("[[target]]\nname = \"{name}\"\ncommand = [\"sh\", \"{{port}}\"]\n"))
        .collect();
    format!("name = \"p\"\ndescription = \"d\"\n{load}\n{targets}")
}
