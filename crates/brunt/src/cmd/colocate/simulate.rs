//! `brunt colocate simulate`: policies on a simulated machine.

use super::scenario::Setting;
use crate::cmd::stdout;
use brunt_colocate::audit::{Header, Log, VERSION};
use brunt_colocate::policy::choice::Choice;
use brunt_colocate::simulator::search::{alone, best_static};
use brunt_colocate::simulator::{Outcome, Scenario, simulate};
use brunt_lab::format;
use brunt_results::{Error, ExitCode};
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Policies: graded, heracles, heracles/N, heracles-prototype, koordinator, parties, static=CORES, none (no controller, no idle class). The service alone is simulated
too, and with --search the best static allotment. The service's objective is 99 % of requests within 6 ms.

Examples:
  brunt colocate simulate
  brunt colocate simulate --load 60% --policy graded,heracles-prototype --job memory --search
  brunt colocate simulate --load 20%-80% --policy graded --audit log.jsonl && brunt colocate replay log.jsonl

Exit status: 0 simulated, 1 the audit log cannot be written, 2 wrong usage.")]
pub struct Args {
    /// Policies to compare
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "graded,heracles,none")]
    policy: Vec<Choice>,
    #[command(flatten)]
    setting: Setting,
    /// Also search the best static allotment, by 41 simulations
    #[arg(long)]
    search: bool,
    /// Write the readings and decisions of the only policy
    #[arg(long, value_name = "FILE")]
    audit: Option<PathBuf>,
    /// Print the outcomes as JSON
    #[arg(long)]
    json: bool,
}

impl Args {
    pub fn run(&self) -> Result<ExitCode, Error> {
        if self.audit.is_some() && self.policy.len() != 1 {
            let count = self.policy.len();
            return Err(Error::Usage(format!("--audit takes the log of one policy, and --policy names {count}")));
        }
        if let Some(twice) = self.policy.iter().enumerate().find(|(at, one)| self.policy[..*at].contains(one)) {
            return Err(Error::Usage(format!("--policy names {} twice", twice.1)));
        }
        let scenario = self.setting.scenario()?;
        let mut outcomes = vec![alone(&scenario)];
        for policy in &self.policy {
            let scenario = Scenario { policy: *policy, ..scenario };
            outcomes.push(match &self.audit {
                Some(path) => logged(&scenario, path).map_err(|e| Error::Failed(format!("{}: {e}", path.display())))?,
                None => simulate(&scenario, |_| {}),
            });
        }
        if self.search {
            let best = best_static(&scenario, &outcomes[0]);
            outcomes.push(Outcome { policy: format!("best static: {}", best.policy), ..best });
        }
        stdout::print_as(self.json, &outcomes, |outcomes| text(outcomes))?;
        Ok(ExitCode::Good)
    }
}

/// Simulates and writes the audit log.
fn logged(scenario: &Scenario, path: &Path) -> std::io::Result<Outcome> {
    let header = Header {
        version: VERSION,
        policy: scenario.policy.to_string(),
        objective: scenario.objective,
        bounds: scenario.bounds(),
    };
    let mut file = BufWriter::new(File::create(path)?);
    let mut log = Log::begin(&mut file, &header)?;
    let mut written = Ok(());
    let outcome = simulate(scenario, |record| {
        if written.is_ok() {
            written = log.add(record);
        }
    });
    written.and_then(|()| file.flush())?;
    Ok(outcome)
}

fn text(outcomes: &[Outcome]) -> String {
    let heads = ["policy", "bad s %", "slow %", "BE rate %", "EMU %", "emergencies", "frozen s", "changes"];
    let row = |outcome: &Outcome| {
        let percent = |part: f64, decimals| format::number(Some(100.0 * part), decimals);
        vec![
            outcome.policy.clone(),
            percent(outcome.bad_share(), 2),
            percent(outcome.slow as f64 / outcome.requests.max(1) as f64, 3),
            percent(outcome.be_rate, 1),
            percent(outcome.emu, 1),
            outcome.emergencies.to_string(),
            format::number(Some(outcome.frozen_seconds), 0),
            outcome.changes.to_string(),
        ]
    };
    format::table(&heads, |column| column > 0, outcomes.iter().map(row))
}
