//! Which processes the server of a load is, and what stands behind it. The flags are carried out on the machine of the server, which may be
//! that of an agent.

use brunt_lab::slices::account::{self, TargetAccount};
use brunt_meter::cgroup::Group;
use brunt_meter::{Placement, Scope, ServerMeter};
use brunt_results::{Cores, Error};
use serde::{Deserialize, Serialize};

pub(super) const HEADING: &str = "Server";

#[derive(Debug, clap::Args, Serialize, Deserialize)]
pub(in crate::cmd) struct ServiceFlags {
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
    /// Count this process and its children as a part of the service too; may be given several times
    #[arg(long, value_name = "PID", help_heading = HEADING)]
    pub(super) also_pid: Vec<u32>,
    /// Count what is in this control group as a part of the service too; may be given several times
    #[arg(long, value_name = "PATH", help_heading = HEADING)]
    pub(super) also_cgroup: Vec<String>,
    /// Count this unit of systemd as a part of the service too; may be given several times
    #[arg(long, value_name = "NAME", help_heading = HEADING)]
    pub(super) also_unit: Vec<String>,
    /// Count the listener alone, not the processes of this machine that it is connected to
    #[arg(long, help_heading = HEADING)]
    pub(super) only_listener: bool,
    /// Leave processes of this name out of the service, such as a database that others use too; may be given several times
    #[arg(long, value_name = "NAME", help_heading = HEADING)]
    pub(super) without: Vec<String>,
}

/// The server of a target.
pub(in crate::cmd) struct MeteredServer {
    /// The process that listens on the addresses of the target, or the one that was named.
    pub process: Option<u32>,
    /// Its account, or why it is not metered.
    pub account: Result<Box<dyn TargetAccount>, String>,
    /// The cores that it had, if it was moved.
    pub moved_from: Option<Cores>,
}

impl ServiceFlags {
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

    /// Meter of the server on this machine, of the processes that were found for these addresses, or the reason why there is none.
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

    /// The account of the server on this machine, of the processes that were found for its addresses. Moves it if that was asked for.
    pub fn account_here(&self, found: Result<Vec<u32>, String>) -> Result<MeteredServer, Error> {
        let (pids, scope) = (self.processes(found), self.scope()?);
        let placement = self.place(&pids)?;
        let moved_from = placement.as_ref().map(|placement| Cores(placement.before()));
        let process = pids.as_ref().ok().and_then(|all| all.first().copied());
        let account = pids.and_then(|all| {
            let Some(pid) = process else { return Err("no process of this machine listens there".to_owned()) };
            let ended = || format!("process {pid} cannot be metered: it has ended, or belongs to another user");
            account::of_server(all, scope, placement).ok_or_else(ended)
        });
        Ok(MeteredServer { process, account, moved_from })
    }
}

fn cannot_move(cores: &Cores, why: &str) -> Error {
    Error::Failed(format!("--server-cores {cores}: {why}"))
}
