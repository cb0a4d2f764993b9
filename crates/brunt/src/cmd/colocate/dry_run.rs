//! `brunt colocate run --dry-run`: what would be limited, and what the policy would give the jobs.

use super::open;
use crate::cmd::{current_binary, stdout};
use brunt_colocate::clock;
use brunt_colocate::controller::{DryRun, Found};
use brunt_colocate::plan::{Job, Plan};
use brunt_lab::format::number;
use brunt_results::{Error, ExitCode};
use brunt_view::status_line::StatusLine;
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

/// Without `--time`.
const TIME: Duration = Duration::from_secs(60);

pub(super) fn run(plan: &Plan, json: bool, line: &StatusLine, stop: impl Fn() -> bool) -> Result<ExitCode, Error> {
    let out = temporary_directory()?;
    let mut dry = DryRun::open(&current_binary()?, plan, &out).map_err(open::failed)?;
    if !json {
        stdout::print(&limited(plan))?;
    }
    let time = plan.time.map_or(TIME, |time| time.0);
    let begin = clock::now();
    let mut end = None;
    while end.is_none() && !stop() && clock::since(begin) < time {
        end = dry.tick(clock::now());
        let left = time.saturating_sub(clock::since(begin)).as_secs();
        line.set(format!("watching, {left} s left: {} cores in the mean", number(Some(dry.found().cores), 2)));
        dry.wait();
    }
    line.clear();
    stdout::print_as(json, &dry.found(), text)?;
    drop(dry);
    let _ = fs::remove_dir_all(&out);
    end.map_or(Ok(ExitCode::Good), |why| Err(Error::Failed(why)))
}

/// A directory for the output of a service that is started.
fn temporary_directory() -> Result<PathBuf, Error> {
    let path = std::env::temp_dir().join(format!("brunt-dry-run-{}", std::process::id()));
    fs::create_dir_all(&path).map_err(|error| Error::Failed(format!("{}: {error}", path.display())))?;
    Ok(path)
}

/// What a run would change.
fn limited(plan: &Plan) -> String {
    let mut text = String::new();
    let cores = plan.cores.as_ref().map_or("all cores of this process".to_owned(), |cores| cores.words());
    let _ = writeln!(text, "jobs would run on {cores}, with {} cores at least, under {}", plan.floor, plan.policy);
    let limits = &plan.limits;
    if let Some(memory) = limits.memory {
        let _ = writeln!(text, "memory of all jobs: {memory}");
    }
    if let Some(processes) = limits.processes {
        let _ = writeln!(text, "processes of all jobs: {processes}");
    }
    if let Some(disk) = &limits.disk {
        let _ = writeln!(text, "disk of {}: {} a second, of reads and of writes each", disk.place.display(), disk.rate);
    }
    if let Some(network) = &limits.network {
        let _ =
            writeln!(text, "network through {}: {} a second at least", network.interfaces.join(", "), network.floor);
    }
    for job in &plan.jobs {
        let _ = writeln!(text, "job{}: {}", own_limits(job), job.command.join(" "));
    }
    text + "nothing is started or changed; see brunt colocate probe for what can be limited here\n"
}

/// ` as www-data, memory 1GiB, 4 processes, 0.5 cores`.
fn own_limits(job: &Job) -> String {
    let user = job.user.as_ref().map_or(String::new(), |user| format!(" as {user}"));
    let limits = [
        job.memory.map(|memory| format!("memory {memory}")),
        job.processes.map(|count| format!("{count} processes")),
        job.cores.map(|cores| format!("{cores} cores")),
    ];
    let limits: Vec<String> = limits.into_iter().flatten().collect();
    if limits.is_empty() { user } else { format!("{user}, {}", limits.join(", ")) }
}

fn text(found: &Found) -> String {
    let percent = |part: f64| number(Some(100.0 * part), 1);
    let slow = (found.requests > 0).then(|| found.slow as f64 / found.requests as f64);
    let mut text = format!(
        "watched    {} s: {} requests, {} % slow; the service used {} cores\n\
         would give {} of {} cores in the mean, if the jobs did not disturb\n",
        number(Some(found.seconds), 0),
        found.requests,
        number(slow.map(|slow| 100.0 * slow), 2),
        number(found.service_cores, 2),
        number(Some(found.cores), 2),
        number(Some(found.ceiling), 0)
    );
    for (reason, part) in &found.reasons {
        let _ = writeln!(text, "{:>6} %   {reason}", percent(*part));
    }
    text
}
