//! Processes and limits of the machine that trials run on.

pub mod cgroup;
pub mod freezer;
pub mod ports;
pub mod process_group;
pub mod process_registry;
pub mod rlimits;
