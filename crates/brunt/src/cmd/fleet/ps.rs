//! `brunt fleet ps`: the loads that agents make, by asking the agents.

use super::access::{FleetFlag, failed};
use super::json::JsonFlag;
use crate::cmd::stdout;
use brunt_fleet::nats::{self, About};
use brunt_lab::format::{plural, table};
use brunt_results::{Error, ExitCode};
use serde::Serialize;
use std::collections::BTreeMap;

#[derive(Debug, clap::Args)]
#[command(after_help = "Exit status: 0 listed (even if empty), 1 no connection to the fleet, 2 wrong usage.")]
pub struct Args {
    #[command(flatten)]
    json: JsonFlag,
    #[command(flatten)]
    fleet: FleetFlag,
}

/// A load, with its agents and where each is.
#[derive(Debug, Serialize)]
struct Load {
    run: String,
    owner: String,
    agents: BTreeMap<String, String>,
}

impl Args {
    pub fn run(&self) -> Result<ExitCode, Error> {
        let agents = nats::agents(&self.fleet.of_operator()?).map_err(failed)?;
        stdout::print_as(self.json.json, &loads(&agents), |loads| text(loads))?;
        Ok(ExitCode::Good)
    }
}

fn loads(agents: &[About]) -> Vec<Load> {
    let mut loads: BTreeMap<(String, String), BTreeMap<String, String>> = BTreeMap::new();
    for agent in agents {
        let Some(busy) = &agent.busy else { continue };
        loads
            .entry((busy.run.clone(), busy.owner.clone()))
            .or_default()
            .insert(agent.id.clone(), agent.state.to_string());
    }
    loads.into_iter().map(|((run, owner), agents)| Load { run, owner, agents }).collect()
}

fn text(loads: &[Load]) -> String {
    if loads.is_empty() {
        return "no agent has a load\n".to_owned();
    }
    let row = |load: &Load| {
        let agents: Vec<String> = load.agents.iter().map(|(id, state)| format!("{id} {state}")).collect();
        vec![load.run.clone(), load.owner.clone(), agents.join(", ")]
    };
    table(&["run", "of", "agents"], |_| false, loads.iter().map(row)) + &plural(loads.len(), "load") + "\n"
}
