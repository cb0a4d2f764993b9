//! A load against a server in a simulated world: both are what the command line runs, and their figures are exact.

mod echo;
mod faults;
mod http;
mod metrics;
mod properties;
mod replay;
mod script;
mod seeds;
mod sleeper;
mod stall;
mod targets;
mod tls;
mod told;
mod verdicts;
mod wire;
mod worlds;
