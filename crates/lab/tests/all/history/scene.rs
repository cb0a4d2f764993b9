//! A folder with hand-made results and an index of its own.

use brunt_lab::history::Index;
use brunt_lab::plan::read;
use brunt_lab::run_directory::{Experiment, Failure, RunDirectory, SCHEMA};
use brunt_lab::schedule::{Machine, cells};
use brunt_results::directory::Directory;
use brunt_results::env::Env;
use brunt_results::result::{Requests, Server};
use brunt_results::{LatencySummary, RunResult};
use brunt_testkit::{Home, home};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

const PLAN: &str = "name = 'p'\n[load]\nconnections = 80\n[sweep]\nsize = ['100B']\n\
    [[target]]\nname = 'a'\ncommand = ['s', '{port}']\n[[target]]\nname = 'b'\ncommand = ['s', '{port}']\n";

pub struct Scene {
    home: Home,
    state: Home,
}

impl Scene {
    pub fn new() -> Self {
        Self { home: home(), state: home() }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        if name.is_empty() { self.home.to_path_buf() } else { self.home.join(name) }
    }

    pub fn state(&self) -> PathBuf {
        self.state.path().join("brunt")
    }

    pub fn index(&self) -> Index {
        Index::open(&self.state()).unwrap()
    }

    /// Writes a finished run of trials: target, repeat, requests per second, p99 in microseconds.
    pub fn run(&self, dir: &str, plan: &str, started_unix_s: u64, trials: &[(&str, u32, f64, f64)]) -> RunDirectory {
        let store = RunDirectory::at(self.path(dir));
        let cells =
            cells(&read("p", PLAN).unwrap(), &Machine { cores: vec![0, 1], open_files: 1 << 20 }, &BTreeMap::new());
        let name = |target: &str| format!("target={target},size=100B");
        let experiment = Experiment {
            schema: SCHEMA.into(),
            name: plan.into(),
            description: "made by hand".into(),
            plan_hash: format!("hash of {plan}"),
            seed: 1,
            repeats: 1,
            command: vec!["brunt".into(), "run".into(), plan.into()],
            started_unix_s,
            cells,
            order: trials.iter().map(|(target, repeat, ..)| format!("{}/{repeat}", name(target))).collect(),
            ..Experiment::default()
        };
        fs::create_dir_all(store.path()).unwrap();
        store.begin(&experiment, PLAN).unwrap();
        for (target, repeat, rate, p99_us) in trials {
            let directory = Directory::create(store.trial(&name(target), *repeat)).unwrap();
            directory.write_env(&env(started_unix_s)).unwrap();
            directory.write_result(&result(*rate, *p99_us)).unwrap();
        }
        store
    }
}

fn env(started_unix_s: u64) -> Env {
    let cpu = Some("a processor".to_owned());
    Env { brunt: "0.1.0".into(), cpu, cpus_online: Some(2), started_unix_s, ..Env::default() }
}

fn result(rate: f64, p99_us: f64) -> RunResult {
    let mut result = RunResult::new("brunt");
    result.load.url = "tcp://127.0.0.1:7100".to_owned();
    result.load.connections = 80;
    result.requests = Requests { completed: 30_000, rate, ..Requests::default() };
    result.latency.response = LatencySummary {
        count: 30_000,
        p50_us: Some(p99_us / 2.0),
        p99_us: Some(p99_us),
        p999_us: Some(p99_us * 2.0),
        ..LatencySummary::default()
    };
    result.server = Server { cpu_us_per_request: Some(8.0), ..Server::default() };
    result
}

/// Writes a directory of `brunt load --out`.
pub fn write_single(dir: &Path, started_unix_s: u64) {
    let directory = Directory::create(dir).unwrap();
    directory.write_env(&env(started_unix_s)).unwrap();
    directory.write_result(&result(1000.0, 900.0)).unwrap();
}

/// Writes a directory of `brunt find` with two steps.
pub fn write_search(dir: &Path, started_unix_s: u64, finished: bool) {
    for step in ["01-rate=1k", "02-rate=2k"] {
        write_single(&dir.join("steps").join(step), started_unix_s);
    }
    fs::write(dir.join("steps/running.json"), "{}").unwrap();
    if finished {
        fs::write(dir.join("find.json"), "{}").unwrap();
    }
}

/// Turns a trial into a failed one.
pub fn fail(store: &RunDirectory, cell: &str, repeat: u32) {
    let dir = store.trial(cell, repeat);
    fs::remove_file(dir.join("result.json")).unwrap();
    let failure = Failure { why: "it did not listen".into(), log: vec!["last words".into()] };
    Directory::open(&dir).write_json("failed.json", &failure).unwrap();
}
