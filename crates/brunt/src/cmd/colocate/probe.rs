//! `brunt colocate probe`: makes a control group, sets everything once, and says what could be set and measured.

use super::memory::Memory;
use crate::cmd::stdout;
use brunt_colocate::actuators::{self, Actuators, DiskLimit, NetworkLimit, Settings};
use brunt_colocate::capability::Capability;
use brunt_colocate::cgroup::Group;
use brunt_colocate::journal::{self, Journal};
use brunt_colocate::signals::{self, Machine, Options, Service};
use brunt_meter::cgroup::Linux;
use brunt_results::{Error, ExitCode};
use serde::Serialize;
use std::fmt::{Display, Write as _};
use std::net::{Ipv4Addr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::{io, process};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Makes an empty control group, sets every limit in it once, reads it back, and removes the group. Nothing else is changed; \
with --interface, that interface has another queueing discipline meanwhile.

Exit status: 0 jobs can be run here, whatever is missing, 1 no control group can be made, 2 wrong usage.")]
pub struct Args {
    /// Also limit what is sent through this interface; may be repeated
    #[arg(long = "interface", value_name = "NAME")]
    interfaces: Vec<String>,
    /// Also limit reads and writes of the disk that this file or device is on
    #[arg(long, value_name = "PATH")]
    disk: Option<PathBuf>,
    /// Also measure, for a second, what the memory can move, as keys of a plan
    #[arg(long)]
    memory: bool,
    /// Print as JSON
    #[arg(long)]
    json: bool,
}

impl Args {
    pub fn run(&self) -> Result<ExitCode, Error> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let mut settings = Settings::new((0..cores).rev().collect(), 0.1);
        settings.memory = Some(64 << 20);
        settings.disk = self.disk.clone().map(|place| DiskLimit { place, rate: 1 << 20 });
        let interfaces = self.interfaces.clone();
        settings.network = (!interfaces.is_empty()).then_some(NetworkLimit { interfaces, floor: 1 << 20 });
        let mut journal = Journal::in_folder(&journal::folder()?)?;
        let capabilities = Actuators::open(Arc::new(Linux), &settings, &mut journal)
            .and_then(|made| Ok((made.capabilities(), signals(made.group())?)));
        let problems = journal.undo(&Linux);
        let (limits, signals) = capabilities?;
        let memory = self.memory.then(Memory::measure).transpose()?;
        let capabilities = Capabilities { limits, signals, memory };
        stdout::print_as(self.json, &capabilities, table)?;
        match &problems[..] {
            [] => Ok(ExitCode::Good),
            [first, ..] => Err(Error::Failed(format!("not undone, see brunt colocate recover: {first}"))),
        }
    }
}

#[derive(Debug, Serialize)]
struct Capabilities {
    limits: Vec<actuators::Capability>,
    signals: Vec<signals::Capability>,
    #[serde(skip_serializing_if = "Option::is_none")]
    memory: Option<Memory>,
}

/// With this process as the service.
fn signals(group: &Group) -> io::Result<Vec<signals::Capability>> {
    let _listens = TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
    Ok(Machine::open(Service::process(process::id())?, group, Options::default()).capabilities())
}

fn table(Capabilities { limits, signals, memory }: &Capabilities) -> String {
    let memory =
        memory.as_ref().map_or(String::new(), |memory| format!("\nMemory, by streams on all cores\n{}", memory.text()));
    format!("Limits of jobs\n{}\nSignals\n{}{memory}", rows(limits), rows(signals))
}

fn rows<Name: Display>(capabilities: &[Capability<Name>]) -> String {
    let mut text = String::new();
    for Capability { name, available, evidence, consequence } in capabilities {
        let mark = if *available { "yes" } else { "no" };
        let _ = writeln!(text, "{:<16} {mark:<3}  {evidence}", name.to_string());
        if let Some(consequence) = consequence {
            let _ = writeln!(text, "{:<16} {:<3}  {consequence}", "", "");
        }
    }
    text
}
