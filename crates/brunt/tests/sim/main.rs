//! A load against a server in a simulated world: both are what the command line runs, and their figures are exact.

mod echo;
mod http;
mod properties;
mod worlds;
