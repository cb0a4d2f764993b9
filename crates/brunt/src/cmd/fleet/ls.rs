//! `brunt fleet ls`: the agents that are there, by asking them.

use super::access::{FleetFlag, failed};
use super::json::JsonFlag;
use crate::cmd::stdout;
use brunt_fleet::nats::{self, About};
use brunt_lab::format::{plural, table as aligned};
use brunt_results::{Error, ExitCode};

#[derive(Debug, clap::Args)]
#[command(after_help = "Exit status: 0 listed (even if empty), 1 no connection to the fleet, 2 wrong usage.")]
pub struct Args {
    #[command(flatten)]
    json: JsonFlag,
    #[command(flatten)]
    fleet: FleetFlag,
}

impl Args {
    pub fn run(&self) -> Result<ExitCode, Error> {
        let access = self.fleet.of_operator()?;
        let agents = nats::agents(&access).map_err(failed)?;
        stdout::print_as(self.json.json, &agents, |agents| table(agents))?;
        Ok(ExitCode::Good)
    }
}

/// Place of the column of numbers.
const CORES: usize = 2;

fn table(agents: &[About]) -> String {
    if agents.is_empty() {
        return "no agents: start brunt agent on each machine\n".to_owned();
    }
    let own = brunt_meter::environment::binary_hash().ok();
    let row = |agent: &About| {
        let labels: Vec<String> = agent.labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
        let doing = agent.busy.as_ref().map_or_else(
            || agent.state.to_string(),
            |busy| format!("{} for {} ({})", agent.state, busy.owner, busy.run),
        );
        let program = if agent.program == own { "same" } else { "other" };
        [&agent.id, &agent.host, &agent.cores.to_string(), program, &labels.join(" "), &doing, &agent.allows]
            .map(str::to_owned)
            .to_vec()
    };
    let header = ["agent", "machine", "cores", "program", "labels", "state", "may load"];
    aligned(&header, |column| column == CORES, agents.iter().map(row)) + &plural(agents.len(), "agent") + "\n"
}
