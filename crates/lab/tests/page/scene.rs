//! A run directory with modelled results: distributions, time series, environments, verdicts and failures.

use crate::model;
use brunt_lab::report::{self, Report};
use brunt_lab::run_directory::{Failure, RunDirectory, TrialOutcome};
use brunt_results::{directory::Directory, env::Env, series::Second};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub struct Scene {
    pub report: Report,
    pub store: RunDirectory,
}

/// A sweep of connections and bars at a fixed rate, on two cores.
pub fn usual(home: &Path) -> Scene {
    let load = "[[sweep]]\nconnections = [10, 80, 500]\n[[sweep]]\nconnections = 80\nrate = \"20k\"";
    let mut report = model::run(&model::plan(load, &["uring", "epoll", "go"]), 2);
    report.experiment.description = "a <b> & \"c\"".into();
    let why = "the target ended with status 1 </script><script>alert(1)</script>".to_owned();
    let last = report.rows.len() - 1;
    let failed = TrialOutcome::Failed(Failure { why, log: Vec::new() });
    report.rows[last] = report::Row::new(report.rows[last].cell.clone(), vec![(1, failed)]);
    scene(home, report)
}

/// Writes the files of all trials.
pub fn scene(home: &Path, report: Report) -> Scene {
    let store = RunDirectory::at(home.join("run"));
    let _lock = store.open().unwrap();
    for row in &report.rows {
        for (repeat, rate) in &row.rates {
            leave(&store.trial(row.cell.id(), *repeat), *rate, 100.0);
        }
    }
    Scene { report, store }
}

/// Writes the files of a trial: 20,000 requests that take 1 to 20,000 times `step` nanoseconds.
pub fn leave(place: &Path, rate: f64, step: f64) {
    let directory = Directory::create(place).unwrap();
    let env = Env {
        brunt: "0.1.0".into(),
        cpu: Some("A CPU <of some kind>".into()),
        kernel: Some("Linux 6.18.0".into()),
        steal_percent: Some(0.3),
        ..Default::default()
    };
    directory.write_env(&env).unwrap();
    let mut series = directory.series().unwrap();
    for at in 0..4 {
        let second = Second {
            at_s: 0.5 + f64::from(at),
            warmup: at == 0,
            completed: rate as u64,
            p99_us: Some(step * (3.0 + f64::from(at) / 100.0)),
            server_cpu_user_percent: Some(step / 5.0),
            server_cpu_system_percent: Some(60.0),
            ..Default::default()
        };
        series.push(&second).unwrap();
    }
    let mut histogram = brunt_results::latency::new_histogram();
    (1..=20_000u32).for_each(|value| histogram.record((f64::from(value) * step) as u64).unwrap());
    fs::write(place.join("latency.hlog"), hlog(&histogram)).unwrap();
}

/// An interval log of one second.
fn hlog(histogram: &hdrhistogram::Histogram<u64>) -> Vec<u8> {
    use hdrhistogram::serialization::{V2DeflateSerializer, interval_log::*};
    let mut bytes = b"#[Histogram log format version 1.3]\n".to_vec();
    let mut serializer = V2DeflateSerializer::new();
    IntervalLogWriterBuilder::new()
        .begin_log_with(&mut bytes, &mut serializer)
        .unwrap()
        .write_histogram(histogram, Duration::ZERO, Duration::from_secs(1), Tag::new("response"))
        .unwrap();
    bytes
}

impl Scene {
    pub fn page(&self) -> String {
        report::page(&self.report, &self.store, false).unwrap()
    }

    /// Writes the page and returns its path.
    pub fn written(&self) -> PathBuf {
        self.store.write_page(&self.page()).unwrap();
        self.store.path().join(brunt_lab::run_directory::PAGE_FILE)
    }
}
