//! What is simulated: machine, service, load and jobs, as typed.

use crate::cmd::share;
use brunt_colocate::policy::choice::Choice;
use brunt_colocate::simulator::{Job, Load, Scenario, Trouble, Turns, preset};
use brunt_results::{Error, Span};
use std::time::Duration;

/// Least time between two troubles of a kind: each is over, and its consequences are.
const LEAST_TROUBLE: Duration = Duration::from_secs(120);
const LEAST_STALLS: Duration = Duration::from_secs(1);

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Machine {
    /// 8 cores, a service with a peak of 10,000 requests a second
    Server,
    /// 2 cores of a virtual machine with pauses, a peak of 1,000 requests a second
    Vm,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum JobKind {
    /// Computes in registers
    Cpu,
    /// Streams through the last-level cache
    Cache,
    /// Streams through memory
    Memory,
}

impl JobKind {
    fn job(self) -> Job {
        match self {
            Self::Cpu => Job::CPU,
            Self::Cache => Job::CACHE,
            Self::Memory => Job::MEMORY,
        }
    }
}

#[derive(Debug, clap::Args)]
pub(super) struct Setting {
    /// Load of the service, as a share of its peak: 60%, 20%-80% (changing every minute), or day; above 100% it cannot keep up
    #[arg(long, default_value = "day")]
    load: Load,
    /// Simulated time [default: 24h for a day, else 10m]
    #[arg(long, value_name = "TIME")]
    time: Option<Span>,
    /// What the best-effort jobs do; of two kinds, as in cpu,memory, they take turns
    #[arg(long, value_enum, value_delimiter = ',', default_value = "memory", value_name = "KIND[,KIND]")]
    job: Vec<JobKind>,
    /// Length of a turn of one kind of jobs
    #[arg(long, value_name = "TIME", default_value = "5m")]
    turn: Span,
    /// The controller takes all jobs for one kind
    #[arg(long)]
    one_kind: bool,
    #[arg(long, value_enum, default_value = "server")]
    machine: Machine,
    /// Share of the reports about the service that get lost
    #[arg(long, value_name = "PERCENT", default_value = "0%", value_parser = lost)]
    lost: f64,
    /// The controller does not know the load as a share of the peak, as with a probe
    #[arg(long)]
    unknown_load: bool,
    /// Time between two deployments, each a restart of a second, refused meanwhile, and three seconds of slow replies
    #[arg(long, value_name = "TIME")]
    deploys: Option<Span>,
    /// Time between two bursts of load, of five seconds at more than the service can do
    #[arg(long, value_name = "TIME")]
    bursts: Option<Span>,
    /// Time between two silences of the source, of half a minute
    #[arg(long, value_name = "TIME")]
    silences: Option<Span>,
    /// Time between two stalls of some milliseconds that no signal shows and no job causes, as of a hypervisor or a collector of garbage
    #[arg(long, value_name = "TIME")]
    stalls: Option<Span>,
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

fn lost(text: &str) -> Result<f64, String> {
    share(text, |percent| (0.0..=100.0).contains(&percent), "from 0% to 100%")
}

impl Setting {
    fn jobs(&self, time: Duration) -> Result<(Job, Option<Turns>), Error> {
        let jobs: Vec<Job> = self.job.iter().map(|kind| kind.job()).collect();
        if self.turn.0 < Duration::from_secs(1) {
            return Err(Error::Usage(format!("--turn {}: it must be at least 1s", self.turn)));
        }
        let (seconds, is_one_kind) = (self.turn.0.as_secs_f64(), self.one_kind);
        match *jobs {
            [job] => Ok((job, None)),
            [_, _] if self.turn.0 >= time => {
                Err(Error::Usage(format!("--turn {}: in {} the second kind never has a turn", self.turn, Span(time))))
            }
            [job, other] => Ok((job, Some(Turns { other, seconds, is_one_kind }))),
            _ => Err(Error::Usage("--job: at most two kinds take turns".to_owned())),
        }
    }

    /// The service alone, until it gets another policy.
    pub(super) fn scenario(&self) -> Result<Scenario, Error> {
        let default = if self.load == Load::Day { 24 * 3600 } else { 600 };
        let time = self.time.map_or(Duration::from_secs(default), |time| time.0);
        if !(1..=30 * 24 * 3600).contains(&time.as_secs()) {
            return Err(Error::Usage(format!("--time {}: it must be from 1s to 30d", Span(time))));
        }
        let (machine, service, objective) = match self.machine {
            Machine::Server => preset::server(),
            Machine::Vm => preset::virtual_machine(),
        };
        let (job, turns) = self.jobs(time)?;
        let every = |name: &str, time: Option<Span>, least: Duration| match time {
            None => Ok(0.0),
            Some(time) if time.0 >= least => Ok(time.0.as_secs_f64()),
            Some(time) => Err(Error::Usage(format!("--{name} {time}: it must be at least {}", Span(least)))),
        };
        let trouble = Trouble {
            deploys: every("deploys", self.deploys, LEAST_TROUBLE)?,
            bursts: every("bursts", self.bursts, LEAST_TROUBLE)?,
            silences: every("silences", self.silences, LEAST_TROUBLE)?,
            stalls: every("stalls", self.stalls, LEAST_STALLS)?,
            refuses: true,
        };
        Ok(Scenario {
            machine,
            service,
            objective,
            job,
            turns,
            load: self.load,
            seconds: time.as_secs(),
            policy: Choice::None,
            missing: self.lost,
            knows_load: !self.unknown_load,
            trouble,
            seed: self.seed,
        })
    }
}
