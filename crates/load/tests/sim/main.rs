//! Loads in a simulated world, against targets that are tasks with exactly known behaviour: what the load reports is equal to
//! what happened, not near it.

mod faults;
mod loops;
mod properties;
mod queue;
mod session;
mod targets;
mod worlds;
