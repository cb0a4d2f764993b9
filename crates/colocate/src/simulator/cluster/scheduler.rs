//! Where a job is placed, by what the machines report.

use crate::simulator::chance::Chance;
use crate::simulator::node::Second;
use std::fmt;
use std::str::FromStr;

/// What a machine reports of the last round.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Report {
    /// Of its service, as a share of its peak.
    pub load: f64,
    /// Cores that its jobs may use and its service leaves: the least of any second.
    pub spare: f64,
}

impl Report {
    pub(super) fn of(seconds: &[Second], cores: f64) -> Self {
        let load = seconds.iter().map(|second| second.load).sum::<f64>() / seconds.len().max(1) as f64;
        let spare =
            seconds.iter().map(|second| second.cores.min(cores - second.lc_cores)).fold(f64::INFINITY, f64::min);
        Self { load, spare: if spare.is_finite() { spare } else { 0.0 } }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placement {
    /// On any machine with a free slot.
    Random,
    /// On the machine whose service has the lowest load.
    Load,
    /// On the machine that has most to spare for another job; a job waits until one has a core to spare.
    Spare,
}

impl Placement {
    pub const ALL: [Self; 3] = [Self::Random, Self::Load, Self::Spare];

    fn word(self) -> &'static str {
        match self {
            Self::Random => "random",
            Self::Load => "load",
            Self::Spare => "spare",
        }
    }

    /// The machine for the next job; `None` if it waits.
    pub(super) fn machine(
        self,
        reports: &[Report],
        jobs: &[usize],
        slots: usize,
        chance: &mut Chance,
    ) -> Option<usize> {
        let free: Vec<usize> = (0..jobs.len()).filter(|machine| jobs[*machine] < slots).collect();
        let best =
            |of: &dyn Fn(usize) -> f64| free.iter().copied().max_by(|one, other| of(*one).total_cmp(&of(*other)));
        match self {
            Self::Random => free.get((chance.uniform() * free.len() as f64) as usize).copied(),
            Self::Load => best(&|machine| -reports[machine].load - jobs[machine] as f64 / slots as f64),
            Self::Spare => {
                let spare = |machine: usize| reports[machine].spare - jobs[machine] as f64;
                best(&spare).filter(|machine| spare(*machine) >= 1.0)
            }
        }
    }
}

impl fmt::Display for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl FromStr for Placement {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let named = Self::ALL.into_iter().find(|placement| placement.word() == text);
        named.ok_or_else(|| format!("'{text}' is no placement: random, load, spare"))
    }
}
