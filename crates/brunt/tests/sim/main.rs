//! A load against a server in a simulated world: both are what the command line runs, and their figures are exact.

mod echo;
mod faults;
mod http;
mod properties;
mod seeds;
mod sleeper;
mod targets;
mod tls;
mod wire;
mod worlds;
