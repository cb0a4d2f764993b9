//! `brunt fleet` and `brunt agent`: machines that make loads together. One file per subcommand under `fleet/`.

mod access;
mod account;
pub(super) mod agent;
mod allowed;
pub(super) mod ceiling;
mod children;
mod chosen;
mod collect;
mod doctor;
mod files;
mod generator;
mod hosts;
mod json;
mod key;
mod launch;
mod ls;
mod meter;
mod nats_server;
mod probe;
mod ps;
pub(super) mod secrets;
mod services;
mod settings;
mod shipped;
pub(super) mod ssh;
mod start;
mod stop;
mod target;
mod up;

pub(super) use access::{FleetFlag, failed};
pub(super) use account::RemoteAccount;
pub(super) use chosen::{chosen, one};
pub(super) use hosts::HostsFlag;
pub(super) use meter::RemoteMeter;
pub(super) use probe::RemoteProbe;
pub(super) use shipped::Shipped;

use brunt_results::{Error, ExitCode};

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Start the server of a fleet, and say how machines join it
    Up(up::Args),
    /// Make the key of an agent, with which it joins
    Key(key::Args),
    /// List the agents that are there
    Ls(ls::Args),
    /// List the loads that agents make
    Ps(ps::Args),
    /// Report a load from what its agents have kept
    Collect(collect::Args),
    /// Check the server, and each agent with its machine and its clock
    Doctor(doctor::Args),
    /// Print what starts agents on a cluster
    Launch(launch::Args),
    /// Start a target on the machine of an agent, and keep it until Ctrl-C
    Start(start::Args),
    /// End a load, or all of them, on all machines
    Stop(stop::Args),
}

impl Args {
    pub fn run(&self) -> Result<ExitCode, Error> {
        match &self.command {
            Command::Up(args) => args.run(),
            Command::Key(args) => args.run(),
            Command::Ls(args) => args.run(),
            Command::Ps(args) => args.run(),
            Command::Launch(args) => args.run(),
            Command::Collect(args) => args.run(),
            Command::Doctor(args) => args.run(),
            Command::Start(args) => args.run(),
            Command::Stop(args) => args.run(),
        }
    }
}
