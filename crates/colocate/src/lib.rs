//! Best-effort (BE) jobs on the machine of a latency-critical (LC) service, under an objective for its latency.
//!
//! ```text
//! signals ──readings──▶ policy ──allotment──▶ actuators ──▶ control groups of the BE jobs
//! ```
//!
//! A policy is a pure function of its state, the readings and the time, so that a recorded run can be decided again and a
//! simulated machine tests what runs on a real one.
//!
//! Invariants:
//! - The LC service is never limited, and only control groups made here are changed.
//! - Readings that are missing or old never let BE jobs grow.
#![forbid(unsafe_code)]
#![allow(missing_docs)]

pub mod actuators;
pub mod allotment;
pub mod audit;
pub mod capability;
pub mod cgroup;
mod claim;
pub mod clock;
pub mod controller;
mod escapes;
pub mod exec;
#[cfg(test)]
mod fake;
pub mod guardian;
pub mod jobs;
pub mod journal;
pub mod objective;
pub mod plan;
pub mod policy;
pub mod queue;
pub mod readings;
pub mod signals;
pub mod simulator;
mod tc;
pub mod user;
