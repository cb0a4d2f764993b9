//! The best allotment that does not change: what a controller is compared with.

use super::run::{Outcome, simulate};
use super::scenario::Scenario;
use crate::policy::choice::Choice;

/// Bad seconds above those of the service alone, as a share, that an allotment may cost.
pub const ALLOWED: f64 = 0.01;

/// Allotments tried besides none, up to the whole machine.
const STEPS: u32 = 40;

/// The service without BE jobs.
pub fn alone(scenario: &Scenario) -> Outcome {
    Outcome { policy: "alone".to_owned(), ..of(scenario, 0.0) }
}

/// The static allotment with the highest rate of the BE jobs among those that keep the objective as well as `alone`, the service
/// without jobs, does.
pub fn best_static(scenario: &Scenario, alone: &Outcome) -> Outcome {
    let tried = (1..=STEPS).map(|step| of(scenario, scenario.machine.cores * f64::from(step) / f64::from(STEPS)));
    let good = tried.filter(|outcome| outcome.bad_share() <= alone.bad_share() + ALLOWED);
    let none = Outcome { policy: Choice::Static(0.0).to_string(), ..alone.clone() };
    std::iter::once(none).chain(good).max_by(|one, other| one.be_rate.total_cmp(&other.be_rate)).unwrap_or_default()
}

fn of(scenario: &Scenario, cores: f64) -> Outcome {
    simulate(&Scenario { policy: Choice::Static(cores), ..*scenario }, |_| {})
}
