//! `brunt colocate limits`, `pause`, `resume` and `drain`: what an operator tells the runs of this user.

use super::status::limit_words;
use crate::cmd::stdout;
use brunt_colocate::controller::{Health, Order, State, Status, give, statuses};
use brunt_lab::format::plural;
use brunt_meter::cgroup::Linux;
use brunt_results::{Error, ExitCode};
use std::fmt::Write as _;
use std::path::PathBuf;

/// Which runs are meant.
#[derive(Debug, clap::Args)]
struct Runs {
    /// The run with these results; without it, all runs of this user
    #[arg(value_name = "DIR")]
    out: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
A limit is an allotment at which the service missed its objective. Where the service's load is known, limits are kept by load and \
rise by 5 % a minute; others are tried again after 5 s, and after twice as long each time they are broken again.

Exit status: 0 success, 1 no such run, 2 wrong usage.")]
pub struct LimitsArgs {
    #[command(flatten)]
    runs: Runs,
    /// Let the policy forget them: the jobs may grow again at once
    #[arg(long)]
    forget: bool,
    /// Print as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
It takes up to a second. The policy goes on watching meanwhile.

Exit status: 0 success, 1 no such run, 2 wrong usage.")]
pub struct OrderArgs {
    #[command(flatten)]
    runs: Runs,
}

impl Runs {
    /// Those whose controllers run.
    fn found(&self) -> Result<Vec<(PathBuf, Status)>, Error> {
        let wanted = self.out.as_ref().map(|out| out.canonicalize().unwrap_or_else(|_| out.clone()));
        let mut found = statuses()?;
        found.retain(|(journal, status)| {
            let is_wanted = wanted.as_ref().is_none_or(|wanted| *wanted == status.out);
            is_wanted && Health::of(&Linux, journal, status).controller != State::Gone
        });
        match (&self.out, found.is_empty()) {
            (_, false) => Ok(found),
            (None, true) => Err(Error::Failed("no run of this user: see brunt colocate status".to_owned())),
            (Some(out), true) => {
                Err(Error::Failed(format!("no run has its results in {}: see brunt colocate status", out.display())))
            }
        }
    }

    fn give(&self, order: Order, done: &str) -> Result<ExitCode, Error> {
        let mut text = String::new();
        for (journal, status) in self.found()? {
            give(&journal, order)?;
            let _ = writeln!(text, "process {}, {}: {done}", status.controller.pid, status.out.display());
        }
        stdout::print(&text)?;
        Ok(ExitCode::Good)
    }
}

impl LimitsArgs {
    pub fn run(&self) -> Result<ExitCode, Error> {
        if self.forget {
            return self.runs.give(Order::ForgetLimits, "its limits are forgotten");
        }
        let found = self.runs.found()?;
        let runs: Vec<serde_json::Value> =
            found.iter().map(|(_, status)| serde_json::json!({ "out": status.out, "limits": status.limits })).collect();
        stdout::print_as(self.json, &runs, |_| {
            let mut text = String::new();
            for (_, status) in &found {
                let count = plural(status.limits.len(), "limit");
                let _ = writeln!(text, "process {}, {}: {count}", status.controller.pid, status.out.display());
                status.limits.iter().for_each(|limit| _ = writeln!(text, "{}", limit_words(limit)));
            }
            text
        })?;
        Ok(ExitCode::Good)
    }
}

impl OrderArgs {
    pub fn pause(&self) -> Result<ExitCode, Error> {
        self.runs.give(Order::Pause, "its jobs are frozen until brunt colocate resume")
    }

    pub fn resume(&self) -> Result<ExitCode, Error> {
        self.runs.give(Order::Resume, "its jobs go on")
    }

    pub fn drain(&self) -> Result<ExitCode, Error> {
        self.runs.give(Order::Drain, "no job is started any more; it ends with those that run")
    }
}
