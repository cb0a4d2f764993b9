//! What is simulated.

use super::job::{Job, Turns};
use super::load::Load;
use super::plant::{Machine, Service};
use super::trouble::Trouble;
use crate::allotment::Bounds;
use crate::objective::Objective;
use crate::policy::choice::Choice;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scenario {
    pub machine: Machine,
    pub service: Service,
    pub objective: Objective,
    pub job: Job,
    pub turns: Option<Turns>,
    pub load: Load,
    pub seconds: u64,
    pub policy: Choice,
    /// Share of the reports about the service that get lost.
    pub missing: f64,
    /// Whether the controller knows the load of the service as a share of its peak.
    pub knows_load: bool,
    pub trouble: Trouble,
    pub seed: u64,
}

impl Scenario {
    pub fn bounds(&self) -> Bounds {
        Bounds::new(0.05, self.machine.cores)
    }
}
