//! A load against a server in a simulated world, and the lab beside them: all are what the command line runs, and their figures are
//! exact.

mod counted;
mod echo;
mod faults;
mod find;
mod http;
mod lab;
mod metrics;
mod properties;
mod replay;
mod script;
mod seeds;
mod sleeper;
mod slices;
mod stall;
mod targets;
mod tls;
mod told;
mod verdicts;
mod wire;
mod worlds;
