//! `brunt colocate status`: what the runs of this user do at the moment, and whether they protect their services.

use crate::cmd::stdout;
use brunt_colocate::controller::{FrozenBy, Health, LearnedLimit, State, Status, statuses};
use brunt_colocate::objective;
use brunt_colocate::policy::limits::Known;
use brunt_lab::format::{number, plural, table, three_digits};
use brunt_meter::cgroup::Linux;
use brunt_results::{Error, ExitCode};
use serde::Serialize;
use std::fmt::Write as _;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Each run writes once a second; figures are as old as it says. Whether its controller and its guardians run, and whether the jobs are \
frozen, is looked at anew.

Exit status: 0 every run protects its service, 1 one does not, or there is none, 2 wrong usage.")]
pub struct Args {
    /// Print as JSON
    #[arg(long)]
    json: bool,
}

/// A run.
#[derive(Debug, Serialize)]
struct Run {
    health: Health,
    #[serde(flatten)]
    status: Status,
}

impl Args {
    pub fn run(&self) -> Result<ExitCode, Error> {
        let runs: Vec<Run> = statuses()?
            .into_iter()
            .map(|(journal, status)| Run { health: Health::of(&Linux, &journal, &status), status })
            .collect();
        let is_good = !runs.is_empty() && runs.iter().all(|run| run.health.is_protecting);
        stdout::print_as(self.json, &runs, |runs| text(runs))?;
        Ok(if is_good { ExitCode::Good } else { ExitCode::Failed })
    }
}

fn text(runs: &[Run]) -> String {
    if runs.is_empty() {
        return "no runs\n".to_owned();
    }
    runs.iter().map(one).collect::<Vec<_>>().join("\n")
}

fn one(Run { health, status }: &Run) -> String {
    let mut text =
        format!("process {}, {} s: {}\n", status.controller.pid, number(Some(status.seconds), 0), status.out.display());
    let what = if health.is_protecting { "protecting, but" } else { "not protecting:" };
    for problem in &health.problems {
        let _ = writeln!(text, "{what} {problem}");
    }
    if let Some(remedy) = &health.remedy {
        let _ = writeln!(text, "remedy: {remedy}");
    }
    let slow = number(status.slow_share.map(|share| 100.0 * share), 3);
    let _ = writeln!(
        text,
        "{}: {}; {}, {slow} % slow",
        status.policy,
        allotted(health, status),
        objective::words(status.quantile, status.limit_ms)
    );
    if let Some(requests) = status.readings.requests {
        let (rate, latency) = (number(Some(requests.value.rate()), 0), number(Some(requests.value.latency_ms), 2));
        let age = number(Some(requests.age.max(0.0) + health.age), 2);
        let _ = writeln!(text, "service: {rate} req/s, {latency} ms, seen {age} s ago");
    }
    status.limits.iter().for_each(|limit| _ = writeln!(text, "{}", limit_words(limit)));
    let _ = writeln!(text, "{}", plural(status.jobs.len(), "job"));
    let row = |job: &brunt_colocate::controller::JobStatus| {
        vec![
            job.id.to_string(),
            job.pid.to_string(),
            number(Some(job.seconds), 0),
            number(job.cpu_seconds, 2),
            three_digits(job.progress),
            three_digits(job.per_second),
            job.command.join(" "),
        ]
    };
    if !status.jobs.is_empty() {
        let heads = ["id", "pid", "s", "CPU s", "progress", "per s", "command"];
        text += &table(&heads, |column| column < 6, status.jobs.iter().map(row));
    }
    text
}

/// What jobs may use, by the controller and in fact.
fn allotted(health: &Health, status: &Status) -> String {
    let cores = number(Some(status.decision.allotment.cores), 2);
    let decided = format!("{cores} cores ({})", status.decision.reason);
    let age = format!("{} s ago", number(Some(health.age), 1));
    match (health.frozen_by, health.controller) {
        (Some(FrozenBy::Guardian), _) => format!("frozen by the guardian; {decided} {age}"),
        (None, State::Running) => decided,
        (Some(FrozenBy::Policy), _) => decided,
        (None, _) => format!("{decided} {age}"),
    }
}

/// A learned limit in a line.
pub(super) fn limit_words(limit: &LearnedLimit) -> String {
    let Known { load, cores, tried_in } = limit.known;
    let jobs = if limit.kinds.is_empty() { String::new() } else { format!(" with {}", limit.kinds.join(" and ")) };
    let words = format!("limit: {} cores were too much{jobs}", number(Some(cores), 2));
    let load = load.map(|load| format!(" at a load of {} % and more", number(Some(100.0 * load), 0)));
    format!("{words}{}; tried again in {} s", load.unwrap_or_default(), number(Some(tried_in.ceil()), 0))
}
