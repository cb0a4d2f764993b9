//! The JSON of `hyperfine --export-json`: cells as commands, repeats as runs, one figure of a repeat, in seconds, as
//! the time.

use super::estimate;
use super::trials::{Group, Trial, Trials};
use brunt_results::RunResult;
use brunt_results::figure::{self, Unit};
use brunt_statistics::median;
use serde_json::{Map, Value, json};

/// `None` if no trial has that figure.
pub(super) fn value(trials: &Trials, tag: &str, figure: &str) -> Option<Value> {
    let results: Vec<Value> = trials.groups.iter().filter_map(|group| command(group, tag, figure)).collect();
    (!results.is_empty()).then(|| json!({"results": results}))
}

fn command(group: &Group, tag: &str, figure: &str) -> Option<Value> {
    let timed = group.trials.iter().filter_map(|trial| Some((trial, seconds(&trial.result, tag, figure)?)));
    let (trials, times): (Vec<&Trial>, Vec<f64>) = timed.unzip();
    let mean = mean_of(&times)?;
    let squares: f64 = times.iter().map(|time| (time - mean).powi(2)).sum();
    let deviation = (times.len() > 1).then(|| (squares / (times.len() - 1) as f64).sqrt());
    let cpu = |mode: fn(&RunResult) -> Option<f64>| {
        let values: Option<Vec<f64>> = trials.iter().map(|trial| mode(&trial.result)).collect();
        mean_of(&values?)
    };
    let memory: Option<Vec<u64>> = trials.iter().map(|trial| trial.result.server.rss_peak_bytes).collect();
    let parameters: Map<String, Value> =
        group.swept().into_iter().map(|(name, value)| (name, Value::String(value))).collect();
    let mut command = json!({
        "command": group.name(),
        "mean": mean,
        "stddev": deviation,
        "median": median(times.iter().copied().map(Some)),
        "user": cpu(|result| cpu_seconds(result, result.server.cpu_user_percent)),
        "system": cpu(|result| cpu_seconds(result, result.server.cpu_system_percent)),
        "min": times.iter().copied().fold(f64::INFINITY, f64::min),
        "max": times.iter().copied().fold(0.0, f64::max),
        "times": times,
        "exit_codes": vec![0; times.len()],
        "parameters": parameters,
    });
    if let Some(memory) = memory {
        command["memory_usage_byte"] = json!(memory);
    }
    Some(command)
}

fn mean_of(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

fn seconds(result: &RunResult, tag: &str, figure: &str) -> Option<f64> {
    let is_time = figure::find(figure)?.unit == Unit::Us;
    estimate::figure(result, tag, figure).filter(|_| is_time).map(|us| us / 1e6)
}

fn cpu_seconds(result: &RunResult, mode_percent: Option<f64>) -> Option<f64> {
    let share = mode_percent? / result.server.cpu_percent()?;
    Some(result.server.cpu_us_per_request? / 1e6 * share).filter(|time| time.is_finite())
}
