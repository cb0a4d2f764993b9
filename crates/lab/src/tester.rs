//! The tester's command line for one trial. The tester is a program like any other: what is known of it is that it
//! takes the flags of `brunt load` and writes a result directory.

use crate::cells::Cell;
use outcome::Rate;
use std::{
    path::{Path, PathBuf},
    time::Duration,
};

/// A program that makes load.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tester {
    /// The program.
    pub program: PathBuf,
    /// Words before the address and the flags.
    pub lead: Vec<String>,
    /// What it may take beyond its load before it counts as hung: connecting, draining, writing its files.
    pub grace: Duration,
}

/// Assumed where the plan leaves the timeout of a request to the tester.
const TIMEOUT: Duration = Duration::from_secs(30);

impl Tester {
    /// `brunt load` of the binary at this path.
    pub fn brunt(program: impl Into<PathBuf>) -> Self {
        Self { program: program.into(), lead: vec!["load".to_owned()], grace: Duration::from_secs(30) }
    }

    /// The arguments for one trial.
    pub fn args(&self, cell: &Cell, port: u16, server_pid: u32, seed: u64, out: &Path) -> Vec<String> {
        let mut args = self.lead.clone();
        args.push(format!("tcp://127.0.0.1:{port}"));
        let mut flag = |name: &str, value: String| args.extend([name.to_owned(), value]);
        flag("-c", cell.connections().to_string());
        flag("--cores", cell.placement.client.to_string());
        flag("-d", cell.settings.duration.to_string());
        flag("--warmup", cell.settings.warmup.to_string());
        flag("--size", cell.settings.size.to_string());
        if let Some(rate) = cell.rate() {
            flag("-R", Rate(rate).to_string());
        }
        if let Some(arrival) = cell.settings.arrival.clone().filter(|_| cell.rate().is_some()) {
            flag("--arrival", arrival);
        }
        if let Some(timeout) = cell.settings.timeout {
            flag("--timeout", timeout.to_string());
        }
        flag("--seed", seed.to_string());
        flag("--server-pid", server_pid.to_string());
        flag("--out", out.display().to_string());
        args.extend(["--quiet".to_owned(), "--allow-untrusted".to_owned()]);
        args
    }

    /// When a tester that still runs counts as hung.
    pub fn limit(&self, cell: &Cell) -> Duration {
        let timeout = cell.settings.timeout.map_or(TIMEOUT, |t| t.0);
        // A thousand connections a second is slow, but a target under a sweep of connections may be.
        cell.load_time() + timeout + self.grace + Duration::from_millis(cell.connections())
    }
}
