//! What `brunt colocate run` reads: the service, the source of its latency, the jobs and the policy, as TOML.

mod job;
mod objective;
mod values;

pub use job::Job;

use crate::actuators::{DiskLimit, NetworkLimit};
use crate::objective::Objective;
use crate::policy::choice::Choice;
use brunt_results::{Cores, Count, Rate, Size, Span};
use serde::Deserialize;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    #[serde(default = "graded")]
    pub policy: Choice,
    /// Ends the run; without it, a signal or the end of the jobs does.
    pub time: Option<Span>,
    /// Time before the figures of the summary begin.
    pub warmup: Option<Span>,
    /// Cores of the jobs; by default all that this process may use.
    pub cores: Option<Cores>,
    /// CPU time without a lease, in cores.
    #[serde(default = "floor")]
    pub floor: f64,
    /// For so long the guardian keeps the jobs, frozen, when the controller has gone.
    #[serde(default = "grace")]
    pub grace: Span,
    /// Bytes a second that the memory of this machine can move.
    pub memory_peak: Option<Size>,
    /// Bytes that it moves for a miss of the last-level cache: what it moves is estimated by that where the kernel does not count it.
    pub memory_bytes_per_miss: Option<f64>,
    /// Most jobs at once; by default as many as cores.
    #[serde(default, deserialize_with = "values::count")]
    pub at_once: Option<Count>,
    /// Directory of the results.
    pub out: Option<PathBuf>,
    /// Length from which no more is added to the audit log.
    #[serde(default = "audit")]
    pub audit: Size,
    pub service: Service,
    pub source: Source,
    #[serde(default)]
    pub limits: Limits,
    /// A queue that others add to; without it there are only the jobs of the plan.
    pub queue: Option<Queue>,
    #[serde(default, rename = "job")]
    pub jobs: Vec<Job>,
}

/// The latency-critical service: exactly one of the first four.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Service {
    /// A process; its children belong to the service.
    #[serde(default, deserialize_with = "values::pid")]
    pub pid: Option<u32>,
    /// Whoever listens on this address or port.
    pub listen: Option<String>,
    /// Directory of a control group.
    pub cgroup: Option<PathBuf>,
    /// Started and ended with the run.
    #[serde(default, deserialize_with = "values::some_words")]
    pub command: Option<Vec<String>>,
    /// Cores of the command.
    pub cores: Option<Cores>,
    #[serde(with = "objective")]
    pub slo: Objective,
    /// Requests a second at full load.
    #[serde(default, deserialize_with = "values::rate")]
    pub peak: Option<Rate>,
}

/// Where counts of requests come from: exactly one of the first five.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// Arguments of `brunt load`.
    #[serde(default, deserialize_with = "values::some_words")]
    pub load: Option<Vec<String>>,
    /// A file of counts that grows.
    pub file: Option<PathBuf>,
    /// A program that prints counts.
    #[serde(default, deserialize_with = "values::some_words")]
    pub command: Option<Vec<String>>,
    /// A URL that is asked by the controller.
    pub probe: Option<String>,
    /// A URL with metrics in the text format of Prometheus.
    pub prometheus: Option<String>,
    /// Between two probes, or two looks at metrics.
    pub every: Option<Span>,
    /// Name of the histogram of response times.
    pub metric: Option<String>,
    /// Age at which counts are too old to decide on.
    #[serde(default = "stale")]
    pub stale: Span,
}

/// Limits of all jobs together, whatever the policy.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    pub memory: Option<Size>,
    #[serde(default, deserialize_with = "values::count")]
    pub processes: Option<Count>,
    pub disk: Option<Disk>,
    pub network: Option<Network>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Disk {
    /// A block device, or a file or directory on it.
    pub place: PathBuf,
    /// Bytes a second, of reads and of writes each.
    pub rate: Size,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Network {
    /// Interfaces that jobs send through.
    pub interfaces: Vec<String>,
    /// Bytes a second without a lease, on each.
    pub floor: Size,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Queue {
    /// By default the one of `brunt colocate queue`.
    pub file: Option<PathBuf>,
    /// Whether the run ends when every job has ended.
    #[serde(default)]
    pub until_empty: bool,
}

/// A plan that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Invalid(String);

const LEAST_AUDIT: Size = Size(1 << 20);

fn graded() -> Choice {
    Choice::Graded
}

fn floor() -> f64 {
    0.05
}

fn audit() -> Size {
    Size(1 << 30)
}

fn grace() -> Span {
    Span(Duration::from_secs(2))
}

fn stale() -> Span {
    Span(Duration::from_secs(1))
}

impl Plan {
    /// `name` is the file's, for errors.
    pub fn parse(name: &str, text: &str) -> Result<Self, Invalid> {
        let plan: Self = toml::from_str(text).map_err(|error| {
            let line = error.span().map_or(1, |span| text[..span.start.min(text.len())].matches('\n').count() + 1);
            Invalid(format!("{name}:{line}: {}", error.message().replace('\n', " ")))
        })?;
        plan.check().map_err(|why| Invalid(format!("{name}: {why}")))?;
        Ok(plan)
    }

    fn check(&self) -> Result<(), String> {
        let Service { pid, listen, cgroup, command, cores, .. } = &self.service;
        one_of(
            "[service]",
            &[
                ("pid", pid.is_some()),
                ("listen", listen.is_some()),
                ("cgroup", cgroup.is_some()),
                ("command", command.is_some()),
            ],
        )?;
        if cores.is_some() && command.is_none() {
            return Err("[service] cores is for a command: a service that runs already keeps its own".to_owned());
        }
        self.source.check()?;
        let words = [("[service]", command), ("[source]", &self.source.command)];
        if let Some((table, _)) = words.iter().find(|(_, words)| words.as_ref().is_some_and(Vec::is_empty)) {
            return Err(format!("{table} command is empty: name a program"));
        }
        if !(0.001..=1e4).contains(&self.floor) {
            return Err(format!("floor = {}: it must be from 0.001 to 10000 cores", self.floor));
        }
        if self.time.is_some_and(|time| time.0.is_zero()) {
            return Err("time = \"0s\": a run has to last; without it, it lasts until a signal".to_owned());
        }
        if self.audit < LEAST_AUDIT {
            return Err(format!(
                "audit = \"{}\": at least {LEAST_AUDIT}, which a log of some minutes needs",
                self.audit
            ));
        }
        if self.memory_peak.is_some_and(|bytes| bytes.0 == 0) {
            return Err("memory_peak = \"0B\": it is what the memory of this machine can move in a second".to_owned());
        }
        if self.memory_bytes_per_miss.is_some_and(|bytes| !(1.0..=1e5).contains(&bytes)) {
            return Err(
                "memory_bytes_per_miss must be from 1 to 100000; brunt colocate probe --memory measures it".to_owned()
            );
        }
        if self.at_once.is_some_and(|count| count.0 == 0) {
            return Err("at_once = \"0\": at least one job must be able to run".to_owned());
        }
        if self.queue.is_some() && !self.jobs.is_empty() {
            return Err("it has [queue] and [[job]]: add the jobs with brunt colocate queue add instead".to_owned());
        }
        if self.queue.is_none() && self.jobs.is_empty() {
            return Err("it has no jobs: add [[job]] with a command, or [queue]".to_owned());
        }
        self.jobs.iter().try_for_each(Job::check)
    }

    /// Whether the run ends with its jobs.
    pub fn until_empty(&self) -> bool {
        match &self.queue {
            Some(queue) => queue.until_empty,
            None => self.jobs.iter().all(|job| !job.repeat),
        }
    }
}

impl Limits {
    pub(crate) fn disk(&self) -> Option<DiskLimit> {
        self.disk.as_ref().map(|disk| DiskLimit { place: disk.place.clone(), rate: disk.rate.0 })
    }

    pub(crate) fn network(&self) -> Option<NetworkLimit> {
        let network = self.network.as_ref()?;
        Some(NetworkLimit { interfaces: network.interfaces.clone(), floor: network.floor.0 })
    }
}

impl Source {
    fn check(&self) -> Result<(), String> {
        let Self { load, file, command, probe, prometheus, every, metric, .. } = self;
        one_of(
            "[source]",
            &[
                ("load", load.is_some()),
                ("file", file.is_some()),
                ("command", command.is_some()),
                ("probe", probe.is_some()),
                ("prometheus", prometheus.is_some()),
            ],
        )?;
        if metric.is_some() != prometheus.is_some() {
            return Err("[source] metric names the histogram that prometheus reads: both are needed".to_owned());
        }
        if every.is_some() && probe.is_none() && prometheus.is_none() {
            return Err("[source] every is for probe and prometheus".to_owned());
        }
        if self.stale.0.is_zero() {
            return Err("[source] stale = \"0s\": counts are always some time old".to_owned());
        }
        Ok(())
    }
}

/// Exactly one of the keys is there.
fn one_of(table: &str, keys: &[(&str, bool)]) -> Result<(), String> {
    let given: Vec<&str> = keys.iter().filter(|(_, given)| *given).map(|(key, _)| *key).collect();
    let all: Vec<&str> = keys.iter().map(|(key, _)| *key).collect();
    match given.len() {
        1 => Ok(()),
        0 => Err(format!("{table} has none of {}", all.join(", "))),
        _ => Err(format!("{table} has {}: only one of them is possible", given.join(" and "))),
    }
}

#[cfg(test)]
mod tests;
