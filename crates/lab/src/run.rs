//! Runs experiments.

mod build;
pub mod experiment;
mod nginx;
pub mod observer;
pub mod preflight;
pub mod trial;

use crate::{plan::Plan, testers::Tester};
use std::path::PathBuf;

#[derive(Debug, Clone)]
pub struct Request {
    pub plan: Plan,
    pub plan_text: String,
    /// The folder that the plan's paths are relative to.
    pub base: PathBuf,
    pub out: PathBuf,
    /// Remove what an earlier run left there.
    pub fresh: bool,
    /// Makes the load where the plan names no external tester.
    pub tester: Tester,
    /// The binary whose `serve` is a target.
    pub brunt: PathBuf,
    pub speed_probe: trial::SpeedProbe,
    /// The command line as typed.
    pub command: Vec<String>,
}
