//! `brunt colocate status`: what the runs of this user do at the moment.

use super::run::reason;
use crate::cmd::stdout;
use brunt_colocate::controller::{Status, statuses};
use brunt_lab::format::{number, plural, table, three_digits};
use brunt_results::{Error, ExitCode};
use std::fmt::Write as _;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
As of up to a second ago.

Exit status: 0 success, 1 the state directory cannot be found, 2 wrong usage.")]
pub struct Args {
    /// Print as JSON
    #[arg(long)]
    json: bool,
}

impl Args {
    pub fn run(&self) -> Result<ExitCode, Error> {
        stdout::print_as(self.json, &statuses()?, |statuses| text(statuses))?;
        Ok(ExitCode::Good)
    }
}

fn text(statuses: &[Status]) -> String {
    if statuses.is_empty() {
        return "no runs\n".to_owned();
    }
    statuses.iter().map(one).collect::<Vec<_>>().join("\n")
}

fn one(status: &Status) -> String {
    let mut text = match status.is_alive() {
        true => format!("process {}, {} s: {}\n", status.pid, number(Some(status.seconds), 0), status.out.display()),
        false => {
            format!("process {} has gone: its guardian undoes its changes, or brunt colocate recover\n", status.pid)
        }
    };
    let slow = number(status.slow_share.map(|share| 100.0 * share), 3);
    let _ = writeln!(
        text,
        "{}: {} cores ({}); p{} < {} ms, {slow} % slow",
        status.policy,
        number(Some(status.decision.allotment.cores), 2),
        reason(status.decision),
        status.quantile * 100.0,
        status.limit_ms
    );
    if let Some(requests) = status.readings.requests {
        let (rate, latency) = (number(Some(requests.value.rate()), 0), number(Some(requests.value.latency_ms), 2));
        let _ = writeln!(
            text,
            "service: {rate} req/s, {latency} ms, seen {} s ago",
            number(Some(requests.age.max(0.0)), 2)
        );
    }
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
