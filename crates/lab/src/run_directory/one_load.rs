//! The directory of one load (`brunt load --out`), seen as that of a run with one trial.

use super::{Experiment, SCHEMA};
use crate::plan::settings::{Amount, Settings};
use crate::schedule::{Cell, Cells, Placement};
use brunt_results::directory::Directory;
use brunt_results::{Cores, RunResult, Size, Span, env::Env};
use std::{io, time::Duration};

/// The one repeat.
pub(super) const REPEAT: u32 = 1;

/// What `experiment.json` of such a run would hold.
pub(super) fn experiment(directory: &Directory) -> io::Result<Experiment> {
    let (result, env) = (directory.read_result()?, directory.read_env()?);
    let cell = cell(&result);
    let end = if result.interrupted { ", ended before its time" } else { "" };
    let name = directory.path().file_name().map_or("load".into(), |name| name.to_string_lossy());
    Ok(Experiment {
        schema: SCHEMA.to_owned(),
        name: name.into_owned(),
        description: format!("one load of {}{end}", result.load.url),
        plan_hash: String::new(),
        seed: result.load.seed,
        repeats: 1,
        best_over: None,
        baseline: None,
        style: None,
        margin: None,
        precision: None,
        order: vec![format!("{}/{REPEAT}", cell.id())],
        cells: Cells { run: vec![cell], skipped: Vec::new(), filtered: 0 },
        started_unix_s: env.started_unix_s,
        command: command(env),
    })
}

fn command(env: Env) -> Vec<String> {
    let mut words = env.command;
    if let Some(program) = words.first_mut() {
        *program = "brunt".to_owned();
    }
    words
}

fn cell(result: &RunResult) -> Cell {
    let load = &result.load;
    let span = |seconds: f64| Span(Duration::try_from_secs_f64(seconds).unwrap_or_default());
    let settings = Settings {
        connections: Some(Amount::Total(load.connections)),
        rate: result.requests.offered_rate.map(Amount::Total),
        arrival: load.arrival.clone(),
        size: load.request_bytes.map_or(Settings::default().size, Size),
        duration: span(load.measured_s),
        warmup: span(load.warmup_s),
        path: load.protocol.as_deref().is_some_and(|protocol| protocol == "http").then(|| "/".to_owned()),
        vary: load.vary,
        ..Settings::default()
    };
    let placement = Placement {
        server: Cores(result.server.cores.clone().unwrap_or_default()),
        client: Cores(result.generator.cores.clone()),
        free: false,
        elsewhere: result.server.machine.is_some(),
    };
    Cell::new(load.url.clone(), String::new(), settings, placement)
}
