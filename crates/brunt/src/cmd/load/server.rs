//! The server that is metered: which processes it is, and what stands behind it.

use super::{listeners, usage};
use brunt_load::Target;
use brunt_meter::{Scope, ServerMeter};
use brunt_results::Error;

const HEADING: &str = "Server";

#[derive(Debug, clap::Args)]
pub(super) struct ServerFlags {
    /// Meter this process and its children [default: the local process that listens on the address]
    #[arg(long = "server-pid", value_name = "PID", help_heading = HEADING)]
    pub pid: Option<u32>,
    /// Do not meter the server
    #[arg(long, help_heading = HEADING)]
    pub no_meter: bool,
    /// Count this process and its children as a part of the service too; may be given several times
    #[arg(long, value_name = "PID", help_heading = HEADING)]
    also_pid: Vec<u32>,
    /// Count the listener alone, not the processes of this machine that it is connected to
    #[arg(long, help_heading = HEADING)]
    only_listener: bool,
    /// Leave processes of this name out of the service, such as a database that others use too; may be given several times
    #[arg(long, value_name = "NAME", help_heading = HEADING)]
    without: Vec<String>,
}

impl ServerFlags {
    /// Refuses flags that contradict each other.
    pub(super) fn check(&self) -> Result<(), Error> {
        let scoped = [
            ("--also-pid", !self.also_pid.is_empty()),
            ("--only-listener", self.only_listener),
            ("--without", !self.without.is_empty()),
        ];
        let scoped = super::first_given(&scoped);
        match (self.pid, scoped) {
            (Some(pid), _) if self.no_meter => usage(format!("--server-pid {pid} and --no-meter: give one of them")),
            (_, Some(flag)) if self.no_meter => usage(format!("{flag} and --no-meter: give one of them")),
            _ if self.only_listener && !self.without.is_empty() => {
                usage("--without and --only-listener: the listener alone is without all others")
            }
            _ => Ok(()),
        }
    }

    pub(super) fn scope(&self) -> Scope {
        Scope { only_listener: self.only_listener, without: self.without.clone(), also: self.also_pid.clone() }
    }

    /// Meter of the server, or the reason why there is none. Processes given by their ids must exist.
    pub(super) fn meter(&self, target: &Target) -> Result<Result<ServerMeter, String>, Error> {
        if self.no_meter {
            return Ok(Err("--no-meter was given".to_owned()));
        }
        for pid in &self.also_pid {
            ServerMeter::attach(*pid).map_err(|why| Error::Failed(format!("--also-pid {pid}: {why}")))?;
        }
        Ok(match self.pid {
            Some(pid) => {
                let meter = ServerMeter::attach_scoped(&[pid], &[], self.scope());
                Ok(meter.map_err(|why| Error::Failed(format!("--server-pid {pid}: {why}")))?)
            }
            None => {
                let addresses: Vec<String> = target.addresses().iter().map(ToString::to_string).collect();
                listeners::of(target).and_then(|pids| ServerMeter::attach_scoped(&pids, &addresses, self.scope()))
            }
        })
    }
}
