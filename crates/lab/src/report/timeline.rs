//! What a controller saw and decided in one trial, from its audit log.

use super::Row;
use super::colocation::Colocation;
use crate::run_directory::RunDirectory;
use serde::Deserialize;
use std::fs;

/// Times are seconds since the controller started.
#[derive(Debug, Clone, PartialEq)]
pub struct Timeline {
    /// Cell and repeat.
    pub trial: String,
    /// Name of the objective's percentile.
    pub figure: String,
    pub limit_ms: f64,
    /// The objective's percentile when it changed.
    pub latency_ms: Vec<(f64, f64)>,
    /// Cores allotted to the jobs, when they changed, and at the end.
    pub cores: Vec<(f64, f64)>,
    /// Decisions for another reason than the one before, other than those of [`NORMAL`].
    pub decisions: Vec<(f64, String)>,
}

impl Timeline {
    /// Text alternative.
    pub fn description(&self) -> String {
        let highest = |points: &[(f64, f64)]| points.iter().map(|(_, value)| *value).fold(0.0, f64::max);
        let (latency, cores) = (highest(&self.latency_ms), highest(&self.cores));
        format!(
            "{} up to {latency:.1} ms with a limit of {:.1} ms; jobs on up to {cores:.2} cores; {} marked decisions.",
            self.figure,
            self.limit_ms,
            self.decisions.len()
        )
    }
}

/// A decision in the audit log of `brunt colocate run`.
#[derive(Deserialize)]
struct Record {
    now: f64,
    readings: Readings,
    allotment: Allotment,
    reason: String,
}

#[derive(Deserialize)]
struct Readings {
    requests: Option<Reading>,
}

#[derive(Deserialize)]
struct Reading {
    value: Requests,
}

#[derive(Deserialize)]
struct Requests {
    latency_ms: f64,
}

#[derive(Deserialize)]
struct Allotment {
    cores: f64,
}

/// Reasons that are not marked: those of most ticks.
const NORMAL: &[&str] = &["grow", "hold", "ceiling", "fixed", "cooldown"];

/// The timeline of the trial with most changes, under `graded` if there is one; `None` if no policy reacted.
pub fn read(rows: &[Row], store: &RunDirectory) -> Option<Timeline> {
    let reacts = |of: &Colocation| !of.is_alone() && of.policy != "none" && !of.policy.starts_with("static");
    let trials = rows.iter().filter_map(|row| Some((row, row.colocated.as_ref().filter(|of| reacts(of))?)));
    let trials = trials.flat_map(|(row, of)| of.repeats.iter().map(move |repeat| (row, of, repeat)));
    let key = |of: &Colocation, changes: Option<u64>| (of.policy == "graded", changes);
    // The first of equals, so that the choice does not depend on the order of the files.
    let (row, of, repeat) = trials
        .reduce(|best, next| if key(next.1, next.2.changes) > key(best.1, best.2.changes) { next } else { best })?;
    let log = store.trial(row.cell.id(), repeat.number).join("colocate").join("audit.jsonl");
    let text = fs::read_to_string(log).ok()?;
    let trial = match row.done {
        0 | 1 => row.cell.id().to_owned(),
        _ => format!("{} repeat {}", row.cell.id(), repeat.number),
    };
    let figure = of.objective.figure.clone();
    let empty = Timeline {
        trial: trial.replace(',', ", "),
        figure,
        limit_ms: of.objective.limit_ms,
        latency_ms: Vec::new(),
        cores: Vec::new(),
        decisions: Vec::new(),
    };
    // The first line is the header of the log; the last may be cut off.
    let records = text.lines().skip(1).filter_map(|line| serde_json::from_str::<Record>(line).ok());
    let timeline = records.fold((empty, None), add).0;
    (timeline.cores.len() > 1).then_some(timeline)
}

fn add((mut timeline, last): (Timeline, Option<String>), record: Record) -> (Timeline, Option<String>) {
    let now = record.now;
    let changed = |points: &[(f64, f64)], value: f64| points.last().is_none_or(|(_, last)| *last != value);
    if let Some(Reading { value }) = record.readings.requests
        && changed(&timeline.latency_ms, value.latency_ms)
    {
        timeline.latency_ms.push((now, value.latency_ms));
    }
    let cores = record.allotment.cores;
    match timeline.cores.as_mut_slice() {
        [.., before, end] if before.1 == cores && end.1 == cores => end.0 = now,
        _ => timeline.cores.push((now, cores)),
    }
    if last.as_ref() != Some(&record.reason) && !NORMAL.contains(&record.reason.as_str()) {
        timeline.decisions.push((now, record.reason.clone()));
    }
    (timeline, Some(record.reason))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timeline_has_the_changes_and_the_end() {
        let record = |now: f64, latency_ms: f64, cores: f64, reason: &str| Record {
            now,
            readings: Readings { requests: Some(Reading { value: Requests { latency_ms } }) },
            allotment: Allotment { cores },
            reason: reason.to_owned(),
        };
        let empty = Timeline {
            trial: String::new(),
            figure: "p99".to_owned(),
            limit_ms: 6.0,
            latency_ms: Vec::new(),
            cores: Vec::new(),
            decisions: Vec::new(),
        };
        let records = [
            record(0.0, 1.0, 0.05, "hold"),
            record(0.1, 1.0, 0.1, "grow"),
            record(0.2, 1.0, 0.1, "hold"),
            record(0.3, 9.0, 0.0, "emergency"),
            record(0.4, 9.0, 0.0, "cooldown"),
            record(0.5, 2.0, 0.0, "cooldown"),
        ];
        let seen = records.into_iter().fold((empty, None), add).0;
        assert_eq!(seen.latency_ms, [(0.0, 1.0), (0.3, 9.0), (0.5, 2.0)]);
        assert_eq!(seen.cores, [(0.0, 0.05), (0.1, 0.1), (0.2, 0.1), (0.3, 0.0), (0.5, 0.0)]);
        assert_eq!(seen.decisions, [(0.3, "emergency".to_owned())]);
    }
}
