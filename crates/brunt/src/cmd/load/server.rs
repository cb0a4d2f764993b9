//! The flags on the server of a load: what is metered, where, and after which wait.

use super::meter::Meter;
use super::service::{HEADING, ServiceFlags};
use super::there::ThereFlags;
use super::{listeners, usage, wait};
use brunt_load::{Options, Target};
use brunt_results::{Error, Span};
use std::sync::atomic::AtomicBool;

#[derive(Debug, clap::Args)]
pub(in crate::cmd) struct ServerFlags {
    #[command(flatten)]
    pub service: ServiceFlags,
    /// Wait so long at most until the target answers the first request as the load expects, before the load begins
    #[arg(long, value_name = "TIME", help_heading = HEADING)]
    wait: Option<Span>,
    /// Do not meter the server
    #[arg(long, help_heading = HEADING)]
    pub no_meter: bool,
    #[command(flatten)]
    pub(super) there: ThereFlags,
}

impl ServerFlags {
    /// Refuses flags that contradict each other.
    pub(super) fn check(&self) -> Result<(), Error> {
        let service = &self.service;
        let scoped = [
            ("--server-cgroup", service.server_cgroup.is_some()),
            ("--server-cores", service.server_cores.is_some()),
            ("--also-pid", !service.also_pid.is_empty()),
            ("--also-cgroup", !service.also_cgroup.is_empty()),
            ("--also-unit", !service.also_unit.is_empty()),
            ("--only-listener", service.only_listener),
            ("--without", !service.without.is_empty()),
        ];
        let scoped = super::first_given(&scoped);
        self.there.check(self.no_meter)?;
        match (service.pid, scoped) {
            (Some(pid), _) if self.no_meter => usage(format!("--server-pid {pid} and --no-meter: give one of them")),
            (_, Some(flag)) if self.no_meter => usage(format!("{flag} and --no-meter: give one of them")),
            _ if service.only_listener && !service.without.is_empty() => {
                usage("--without and --only-listener: the listener alone is without all others")
            }
            _ => Ok(()),
        }
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
        if let Some(there) = self.there.meter(&self.service, target)? {
            return Ok(Ok(there));
        }
        let addresses: Vec<String> = target.addresses().iter().map(ToString::to_string).collect();
        let meter = self.service.meter_here(listeners::of(target), addresses)?;
        Ok(meter.map(|meter| Meter::Here(Box::new(meter))))
    }
}
