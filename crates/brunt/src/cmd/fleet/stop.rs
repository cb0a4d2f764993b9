//! `brunt fleet stop`: ends loads on all machines, whoever coordinates them.

use super::access::{FleetFlag, failed};
use brunt_fleet::nats;
use brunt_results::{Error, ExitCode};
use std::io::{self, Write as _};
use std::time::{SystemTime, UNIX_EPOCH};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
The coordinator of a load keeps what was measured until then. Where there is none any more, agents end after 2 s.

Exit status: 0 told, 1 no connection to the fleet, 2 wrong usage.")]
pub struct Args {
    /// Id of the run, as brunt fleet ls shows it, or all
    #[arg(value_name = "RUN|all")]
    run: String,
    #[command(flatten)]
    fleet: FleetFlag,
}

impl Args {
    pub fn run(&self) -> Result<ExitCode, Error> {
        let access = self.fleet.of_operator()?;
        let run = Some(self.run.as_str()).filter(|run| *run != "all");
        let agents = nats::agents(&access).map_err(failed)?;
        let of =
            |run: &str| agents.iter().filter(|agent| agent.busy.as_ref().is_some_and(|busy| busy.run == run)).count();
        if let Some(run) = run.filter(|run| of(run) == 0) {
            let busy: Vec<&str> = agents.iter().filter_map(|agent| Some(agent.busy.as_ref()?.run.as_str())).collect();
            let known =
                if busy.is_empty() { "no agent has one".to_owned() } else { format!("there is {}", busy.join(", ")) };
            return Err(Error::Failed(format!("no agent has a run '{run}': {known}")));
        }
        let day = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        nats::stop(&access, run, day.as_secs()).map_err(failed)?;
        let told = agents.iter().filter(|agent| match (&agent.busy, run) {
            (Some(busy), Some(run)) => busy.run == run,
            (busy, None) => busy.is_some(),
            _ => false,
        });
        let told: Vec<&str> = told.map(|agent| agent.id.as_str()).collect();
        let words =
            if told.is_empty() { "no agent has a load".to_owned() } else { format!("told {}", told.join(", ")) };
        let _ = writeln!(io::stderr(), "{words}");
        Ok(ExitCode::Good)
    }
}
