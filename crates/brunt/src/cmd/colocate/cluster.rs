//! `brunt colocate cluster`: many simulated machines and a scheduler.

use super::scenario::Setting;
use crate::cmd::{share, stdout};
use brunt_colocate::policy::choice::Choice;
use brunt_colocate::simulator::Scenario;
use brunt_colocate::simulator::cluster::{Cluster, Outcome, Placement, simulate};
use brunt_lab::format;
use brunt_results::{Error, ExitCode, Span};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Each machine has a service of its own, at its own time of the day, and its own controller. Jobs of one core each arrive at \
random; every 10 s a scheduler places those that wait by what the machines report. A job that gets less than a fifth of a core \
for a minute is placed anew, from its beginning.

Examples:
  brunt colocate cluster
  brunt colocate cluster --policy graded,koordinator,none --placement spare --jobs 80%

Exit status: 0 simulated, 2 wrong usage.")]
pub struct Args {
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    machines: u32,
    /// Policies of the machines' controllers, to compare
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "graded,koordinator,none")]
    policy: Vec<Choice>,
    /// Where jobs are placed, to compare: on a random machine, on the one with the lowest load, or on the one with most to spare
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "spare")]
    placement: Vec<Placement>,
    /// Work of the jobs that arrive, as a share of what the machines could do without services
    #[arg(long, value_name = "PERCENT", default_value = "60%", value_parser = offered)]
    jobs: f64,
    /// Mean work of a job, in time of one core
    #[arg(long, value_name = "TIME", default_value = "10m")]
    job_time: Span,
    #[command(flatten)]
    setting: Setting,
    /// Print the outcomes as JSON
    #[arg(long)]
    json: bool,
}

fn offered(text: &str) -> Result<f64, String> {
    share(text, |percent| (0.0..=1000.0).contains(&percent), "from 0% to 1000%")
}

impl Args {
    pub fn run(&self) -> Result<ExitCode, Error> {
        let scenario = self.setting.scenario()?;
        let job_seconds = self.job_time.0.as_secs_f64();
        if !(1.0..=86_400.0).contains(&job_seconds) {
            return Err(Error::Usage(format!("--job-time {}: it must be from 1s to 24h", self.job_time)));
        }
        let mut outcomes = Vec::new();
        for policy in &self.policy {
            for placement in &self.placement {
                let machine = Scenario { policy: *policy, ..scenario };
                let (machines, placement, offered) = (self.machines as usize, *placement, self.jobs);
                outcomes.push(simulate(&Cluster { machine, machines, placement, offered, job_seconds }));
            }
        }
        stdout::print_as(self.json, &outcomes, |outcomes| text(outcomes))?;
        Ok(ExitCode::Good)
    }
}

fn text(outcomes: &[Outcome]) -> String {
    let heads = [
        "policy",
        "placement",
        "EMU %",
        "lowest hour",
        "BE rate %",
        "bad s %",
        "worst machine",
        "jobs",
        "evicted",
        "wasted %",
        "slowdown",
        "p95",
    ];
    let row = |outcome: &Outcome| {
        let percent = |part: f64, decimals| format::number(Some(100.0 * part), decimals);
        let times = |factor: f64| format::number(factor.is_finite().then_some(factor), 2);
        vec![
            outcome.policy.clone(),
            outcome.placement.clone(),
            percent(outcome.emu, 1),
            percent(outcome.lowest_emu, 1),
            percent(outcome.be_rate, 1),
            percent(outcome.bad, 2),
            percent(outcome.worst_bad, 2),
            outcome.jobs.to_string(),
            outcome.evicted.to_string(),
            percent(outcome.wasted, 1),
            times(outcome.slowdown),
            times(outcome.slowdown_p95),
        ]
    };
    format::table(&heads, |column| column > 1, outcomes.iter().map(row))
}
