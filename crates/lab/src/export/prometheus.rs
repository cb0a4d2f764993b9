//! Prometheus' text format 0.0.4, for the node exporter's text files and the push gateway.
//!
//! Times are seconds. All histograms have the same buckets, so they can be added.

use super::exposition::{self, family, label};
use super::trials::{Group, Trial, Trials};
use crate::fs_error::with_path;
use brunt_results::{Error, Figure, RunResult, buckets, figure, hlog};
use std::{fmt::Write as _, fs, io};

const QUANTILES: [f64; 5] = [0.5, 0.9, 0.99, 0.999, 0.9999];

const OURS: [&str; 9] = ["plan", "target", "repeat", "le", "quantile", "end", "kind", "mode", "verdict"];

const TIMES: [(&str, &str); 4] = [
    (
        "response",
        "From when a request was due to its reply, which is at least the longest answered one's where none came",
    ),
    ("service", "From when a request was sent to its reply"),
    ("lag", "From when a request was due to when it was sent, as far as the generator was late"),
    ("error", "From when a request was due to its failure"),
];

/// Values with their labels.
type Values = Box<dyn Fn(&RunResult) -> Vec<(String, f64)>>;

/// A family of samples.
struct Samples {
    name: &'static str,
    kind: &'static str,
    help: &'static str,
    values: Values,
}

/// The order of families that are older than the table of figures; others follow.
const ORDER: [&str; 9] = [
    "brunt_requests_total",
    "brunt_errors_total",
    "brunt_requests_per_second",
    "brunt_offered_requests_per_second",
    "brunt_connections",
    "brunt_server_cpu_ratio",
    "brunt_server_cpu_seconds_per_request",
    "brunt_server_resident_memory_bytes",
    "brunt_verdict",
];

/// Families of several samples, told apart by a label.
fn labelled() -> [Samples; 4] {
    let counter = |name, help, values| Samples { name, kind: "counter", help, values };
    let gauge = |name, help, values| Samples { name, kind: "gauge", help, values };
    [
        counter(
            "brunt_requests_total",
            "Requests of the measured window by how they ended",
            Box::new(|result: &RunResult| {
                let requests = &result.requests;
                let (completed, failed) = (requests.completed, requests.failed);
                let counts = [("completed", completed), ("failed", failed), ("unanswered", requests.unanswered)];
                counts.map(|(end, count)| (label("end", end), count as f64)).into()
            }),
        ),
        counter(
            "brunt_errors_total",
            "What went wrong by kind",
            Box::new(|result: &RunResult| {
                result.errors.by_kind().map(|(kind, count)| (label("kind", kind), count as f64)).into()
            }),
        ),
        gauge(
            "brunt_server_cpu_ratio",
            "CPU of the server; 1 is one core",
            Box::new(|result: &RunResult| {
                let modes = [("user", result.server.cpu_user_percent), ("system", result.server.cpu_system_percent)];
                modes.into_iter().filter_map(|(mode, percent)| Some((label("mode", mode), percent? / 100.0))).collect()
            }),
        ),
        gauge(
            "brunt_verdict",
            "1 for the verdict on the figures of the trial",
            Box::new(|result: &RunResult| vec![(label("verdict", result.verdict.kind.word()), 1.0)]),
        ),
    ]
}

/// All families but those of distributions.
fn families() -> Vec<Samples> {
    let of = |figure: &'static Figure| {
        let family = figure.prometheus.as_ref()?;
        let value = |result: &RunResult| Some((String::new(), (figure.of)(result)? / family.divisor));
        let values = Box::new(move |result: &RunResult| value(result).into_iter().collect());
        Some(Samples { name: family.name, kind: "gauge", help: figure.help, values })
    };
    let mut families: Vec<Samples> = labelled().into_iter().chain(figure::all().filter_map(of)).collect();
    families.sort_by_key(|family| ORDER.iter().position(|name| *name == family.name).unwrap_or(ORDER.len()));
    families
}

/// Formats these trials. External testers have no distributions.
pub(super) fn text(trials: &Trials) -> Result<String, Error> {
    let all: Vec<(String, &Trial)> = trials
        .groups
        .iter()
        .flat_map(|group| group.trials.iter().map(|trial| (labels(trials.plan.as_deref(), group, trial), trial)))
        .collect();
    let mut text = String::new();
    for (tag, help) in TIMES {
        times(&mut text, &all, tag, help)?;
    }
    for Samples { name, kind, help, values } in families() {
        let mut lines = String::new();
        for (labels, trial) in &all {
            for (own, value) in values(&trial.result).into_iter().filter(|(_, value)| value.is_finite()) {
                let _ = writeln!(lines, "{name}{{{labels}{own}}} {value}");
            }
        }
        family(&mut text, name, kind, help, &lines);
    }
    Ok(text)
}

fn times(text: &mut String, all: &[(String, &Trial)], tag: &str, help: &str) -> Result<(), Error> {
    let (mut lines, mut quantiles) = (String::new(), String::new());
    let (histogram, summary) = (format!("brunt_{tag}_seconds"), format!("brunt_{tag}_quantiles_seconds"));
    for (labels, trial) in all {
        let place = trial.dir.join("latency.hlog");
        let log = match fs::read(&place) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            log => log.map_err(with_path(&place))?,
        };
        let times = hlog::distribution(&log, tag);
        let times = times.map_err(|error| Error::Failed(format!("{}: {error}", place.display())))?;
        if times.is_empty() {
            continue;
        }
        let (count, sum) = (times.len(), times.mean() * times.len() as f64 / 1e9);
        exposition::histogram(&mut lines, &histogram, labels, &buckets::counts(&times), sum);
        for quantile in QUANTILES {
            let seconds = times.value_at_quantile(quantile) as f64 / 1e9;
            let _ = writeln!(quantiles, "{summary}{{{labels},quantile=\"{quantile}\"}} {seconds}");
        }
        let _ = writeln!(quantiles, "{summary}_sum{{{labels}}} {sum}\n{summary}_count{{{labels}}} {count}");
    }
    family(text, &histogram, "histogram", &format!("{help}, in buckets of a quarter"), &lines);
    family(text, &summary, "summary", &format!("{help}, to a part in a thousand"), &quantiles);
    Ok(())
}

fn labels(plan: Option<&str>, group: &Group, trial: &Trial) -> String {
    let Some(cell) = &group.cell else { return label("url", &trial.result.load.url)[1..].to_owned() };
    let mut labels = label("plan", plan.unwrap_or_default())[1..].to_owned();
    labels += &label("target", &cell.target);
    for (name, value) in group.swept() {
        let is_taken = OURS.contains(&name.as_str()) || name.starts_with(|c: char| c.is_ascii_digit());
        labels += &label(&if is_taken { format!("value_{name}") } else { name }, &value);
    }
    labels + &label("repeat", &trial.repeat.to_string())
}
