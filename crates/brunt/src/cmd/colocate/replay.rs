//! `brunt colocate replay`: an audit log through a policy.

use super::super::stdout;
use brunt_colocate::audit::{Replay, Unreadable, replay};
use brunt_colocate::policy::choice::Choice;
use brunt_lab::format;
use brunt_results::{Error, ExitCode};
use std::fmt::Write as _;
use std::fs::File;
use std::io::BufReader;
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
The readings are those of the log: what another policy would have changed in them, a replay does not know.

Exit status: 0 replayed, 1 the log's own policy now decides otherwise, or reading failed, 2 wrong usage, or no audit log.")]
pub struct Args {
    /// Audit log of brunt colocate
    log: PathBuf,
    /// Policy that decides; default: that of the log
    #[arg(long, value_name = "NAME")]
    policy: Option<Choice>,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

impl Args {
    pub fn run(&self) -> Result<ExitCode, Error> {
        let path = self.log.display();
        let file = File::open(&self.log).map_err(|error| Error::Usage(format!("{path}: {error}")))?;
        let replay = replay(BufReader::new(file), self.policy).map_err(|error| match error {
            Unreadable::Read(error) => Error::Failed(format!("{path}: {error}")),
            other => Error::Usage(format!("{path}: {other}; name the audit.jsonl of a run")),
        })?;
        stdout::print_as(self.json, &replay, text)?;
        let is_same = self.policy.is_some() || replay.equal == replay.decisions;
        Ok(if is_same { ExitCode::Good } else { ExitCode::Failed })
    }
}

fn text(replay: &Replay) -> String {
    let Replay { logged, policy, decisions, equal, first_difference, cores, reasons } = replay;
    let mut out = format!("{decisions} decisions of {logged}, {equal} of {policy} are equal");
    if let Some(seconds) = first_difference {
        let _ = write!(out, ", the first that is not at {seconds:.2} s");
    }
    let _ = writeln!(out, "\ncores in the mean: {:.3} logged, {:.3} by {policy}\n", cores[0], cores[1]);
    let name = |reason| serde_json::to_value(reason).ok().and_then(|name| Some(name.as_str()?.to_owned()));
    let rows = reasons
        .iter()
        .map(|(reason, counts)| vec![name(reason).unwrap_or_default(), counts[0].to_string(), counts[1].to_string()]);
    out + &format::table(&["reason".to_owned(), "logged".to_owned(), policy.clone()], |column| column > 0, rows)
}
