//! The server that is metered: which processes it is, and what stands behind it. The flags are carried out on the machine of the server,
//! which may be that of an agent.

use super::meter::Meter;
use super::there::ThereFlags;
use super::{listeners, usage, wait};
use brunt_load::{Options, Target};
use brunt_meter::cgroup::Group;
use brunt_meter::{Placement, Scope, ServerMeter};
use brunt_results::{Cores, Error, Span};
use serde::{Deserialize, Serialize};
use std::sync::atomic::AtomicBool;

const HEADING: &str = "Server";

#[derive(Debug, clap::Args, Serialize, Deserialize)]
pub(in crate::cmd) struct ServerFlags {
    /// Meter this process and its children [default: the local process that listens on the address]
    #[arg(long = "server-pid", value_name = "PID", help_heading = HEADING)]
    pub pid: Option<u32>,
    /// Meter what is in this control group, as that of a container [default: the local process that listens on the address]
    #[arg(long, value_name = "PATH", conflicts_with = "pid", help_heading = HEADING)]
    pub server_cgroup: Option<String>,
    /// Move the server and what stands behind it, all processes and threads, to these cores, such as 1 or 2-3, for the time
    /// of the load
    #[arg(long, value_name = "LIST", help_heading = HEADING)]
    pub server_cores: Option<Cores>,
    /// Wait so long at most until the target answers the first request as the load expects, before the load begins
    #[arg(long, value_name = "TIME", help_heading = HEADING)]
    #[serde(skip)]
    wait: Option<Span>,
    /// Do not meter the server
    #[arg(long, help_heading = HEADING)]
    #[serde(skip)]
    pub no_meter: bool,
    /// Count this process and its children as a part of the service too; may be given several times
    #[arg(long, value_name = "PID", help_heading = HEADING)]
    also_pid: Vec<u32>,
    /// Count what is in this control group as a part of the service too; may be given several times
    #[arg(long, value_name = "PATH", help_heading = HEADING)]
    also_cgroup: Vec<String>,
    /// Count this unit of systemd as a part of the service too; may be given several times
    #[arg(long, value_name = "NAME", help_heading = HEADING)]
    also_unit: Vec<String>,
    /// Count the listener alone, not the processes of this machine that it is connected to
    #[arg(long, help_heading = HEADING)]
    only_listener: bool,
    /// Leave processes of this name out of the service, such as a database that others use too; may be given several times
    #[arg(long, value_name = "NAME", help_heading = HEADING)]
    without: Vec<String>,
    #[command(flatten)]
    #[serde(skip)]
    pub(super) there: ThereFlags,
}

impl ServerFlags {
    /// Refuses flags that contradict each other.
    pub(super) fn check(&self) -> Result<(), Error> {
        let scoped = [
            ("--server-cgroup", self.server_cgroup.is_some()),
            ("--server-cores", self.server_cores.is_some()),
            ("--also-pid", !self.also_pid.is_empty()),
            ("--also-cgroup", !self.also_cgroup.is_empty()),
            ("--also-unit", !self.also_unit.is_empty()),
            ("--only-listener", self.only_listener),
            ("--without", !self.without.is_empty()),
        ];
        let scoped = super::first_given(&scoped);
        self.there.check(self.no_meter)?;
        match (self.pid, scoped) {
            (Some(pid), _) if self.no_meter => usage(format!("--server-pid {pid} and --no-meter: give one of them")),
            (_, Some(flag)) if self.no_meter => usage(format!("{flag} and --no-meter: give one of them")),
            _ if self.only_listener && !self.without.is_empty() => {
                usage("--without and --only-listener: the listener alone is without all others")
            }
            _ => Ok(()),
        }
    }

    /// Which processes form the service. Groups given by name must exist.
    pub fn scope(&self) -> Result<Scope, Error> {
        let group = |(flag, name): (&str, &String)| {
            let found = if flag == "--also-unit" { Group::of_unit(name) } else { Group::at(name) };
            found.map_err(|why| Error::Failed(format!("{flag} {name}: {why}")))
        };
        let by_path = self.also_cgroup.iter().map(|path| ("--also-cgroup", path));
        let groups = by_path.chain(self.also_unit.iter().map(|unit| ("--also-unit", unit))).map(group);
        Ok(Scope {
            only_listener: self.only_listener,
            without: self.without.clone(),
            also: self.also_pid.clone(),
            also_groups: groups.collect::<Result<_, _>>()?,
        })
    }

    /// Waits until the target answers, if that was asked for.
    pub(super) fn wait(&self, options: &Options, stop: &AtomicBool, quiet: bool) -> Result<(), Error> {
        self.wait.map_or(Ok(()), |limit| wait::until_answered(options, limit, stop, quiet))
    }

    /// Meter of the server, or the reason why there is none. Processes given by their ids must exist.
    pub(super) fn meter(&self, target: &Target) -> Result<Result<Meter, String>, Error> {
        if self.no_meter {
            return Ok(Err("--no-meter was given".to_owned()));
        }
        if let Some(there) = self.there.meter(self, target)? {
            return Ok(Ok(there));
        }
        let addresses: Vec<String> = target.addresses().iter().map(ToString::to_string).collect();
        let meter = self.meter_here(listeners::of(target), addresses)?;
        Ok(meter.map(|meter| Meter::Here(Box::new(meter))))
    }

    /// The same on this machine, of the processes that were found for these addresses.
    pub fn meter_here(
        &self,
        found: Result<Vec<u32>, String>,
        addresses: Vec<String>,
    ) -> Result<Result<ServerMeter, String>, Error> {
        for pid in &self.also_pid {
            ServerMeter::attach(*pid).map_err(|why| Error::Failed(format!("--also-pid {pid}: {why}")))?;
        }
        let scope = self.scope()?;
        let mut meter = match (self.pid, &self.server_cgroup) {
            (Some(pid), _) => {
                let meter = ServerMeter::attach_scoped(&[pid], &[], scope);
                Ok(meter.map_err(|why| Error::Failed(format!("--server-pid {pid}: {why}")))?)
            }
            (None, Some(path)) => {
                let meter = Group::at(path).and_then(|group| ServerMeter::attach_group(group, scope));
                Ok(meter.map_err(|why| Error::Failed(format!("--server-cgroup {path}: {why}")))?)
            }
            (None, None) => {
                let is_given = scope != Scope::default();
                let meter = |pids: Vec<u32>| ServerMeter::attach_scoped(&pids, &addresses, scope);
                match found.map(meter) {
                    // Of what was named, as the flag says.
                    Ok(Err(why)) if is_given => return Err(Error::Failed(why)),
                    found => found.and_then(|meter| meter),
                }
            }
        };
        if let Some(cores) = &self.server_cores {
            let placed = meter.as_mut().map_err(|why| why.clone()).and_then(|meter| meter.place(&cores.0));
            placed.map_err(|why| cannot_move(cores, &why))?;
        }
        Ok(meter)
    }

    /// The processes of the server, which were found by its address, or the one that was named.
    pub fn processes(&self, found: Result<Vec<u32>, String>) -> Result<Vec<u32>, String> {
        self.pid.map_or(found, |pid| Ok(vec![pid]))
    }

    /// Moves these processes until the placement is dropped, if that was asked for.
    pub fn place(&self, processes: &Result<Vec<u32>, String>) -> Result<Option<Placement>, Error> {
        let Some(cores) = &self.server_cores else { return Ok(None) };
        let placement = processes.as_ref().map_err(String::clone).and_then(|pids| Placement::set(pids, &cores.0));
        placement.map(Some).map_err(|why| cannot_move(cores, &why))
    }
}

fn cannot_move(cores: &Cores, why: &str) -> Error {
    Error::Failed(format!("--server-cores {cores}: {why}"))
}
