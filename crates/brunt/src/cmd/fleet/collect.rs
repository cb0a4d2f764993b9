//! `brunt fleet collect`: the result of a load whose coordinator is gone, from the journals of its agents.

use super::access::{FleetFlag, failed};
use crate::cmd::load;
use brunt_fleet::nats::{self, is_id};
use brunt_results::{Error, ExitCode};
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Agents keep what they have measured for a day. A load that was cut off, as by the end of brunt load, is reported up to the last second \
that is there from all agents.

Exit status: as of brunt load; 1 if an agent of the load is not there.")]
pub struct Args {
    /// Id of the run, as brunt load has said
    #[arg(value_name = "RUN")]
    run: String,
    /// Write the result as JSON to a file, or to stdout instead of the text with -
    #[arg(long, value_name = "FILE|-")]
    json: Option<PathBuf>,
    /// Write result.json, latency.hlog, series.jsonl and env.json to this directory, replacing existing ones
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    #[command(flatten)]
    fleet: FleetFlag,
}

impl Args {
    pub fn run(&self) -> Result<ExitCode, Error> {
        if !is_id(&self.run) {
            return Err(Error::Usage(format!(
                "'{}' is no id of a run: it has letters, digits and -",
                self.run.escape_debug()
            )));
        }
        let parts = nats::collect(&self.fleet.of_operator()?, &self.run).map_err(failed)?;
        if parts.is_empty() {
            return Err(Error::Failed(format!("no agent that is there has seconds of run '{}'", self.run)));
        }
        load::collected(&parts, self.out.as_deref(), self.json.as_deref())
    }
}
