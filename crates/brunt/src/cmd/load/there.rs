//! `--meter`: the server is metered by the agent of a fleet on its machine.

use super::meter::Meter;
use super::service::{MeteredServer, ServiceFlags};
use super::usage;
pub(super) use crate::cmd::fleet::FleetFlag;
pub(super) use crate::cmd::fleet::RemoteProbe as Probing;
use crate::cmd::fleet::{RemoteAccount, RemoteMeter, RemoteProbe, failed, one};
use brunt_fleet::nats::{self, About, Access};
use brunt_load::{Options, Target};
use brunt_results::Error;
use brunt_runtime::net::Address;
use brunt_spec::LoadSpec;

#[derive(Debug, Default, clap::Args)]
pub(super) struct ThereFlags {
    /// Meter the server on the machine of this agent of a fleet, where the other flags on the server then apply: its name, or a label
    /// that it alone has, as role=server
    #[arg(long = "meter", value_name = "AGENT", help_heading = "Server")]
    agent: Option<String>,
    /// Send the same requests, few and at random times, from this agent, which makes no load: its response times stand beside those of the
    /// load, to which busy generators add
    #[arg(long, value_name = "AGENT", help_heading = "Fleet")]
    probe: Option<String>,
    #[command(flatten)]
    pub fleet: FleetFlag,
}

impl ThereFlags {
    /// Refuses contradictions.
    pub fn check(&self, no_meter: bool) -> Result<(), Error> {
        match &self.agent {
            Some(agent) if no_meter => usage(format!("--meter {agent} and --no-meter: give one of them")),
            _ => Ok(()),
        }
    }

    pub fn is_given(&self) -> bool {
        self.agent.is_some()
    }

    pub fn has_probe(&self) -> bool {
        self.probe.is_some()
    }

    /// The probe of a load that reads no files, beside agents of these ids.
    ///
    /// # Errors
    /// There is no such agent, or it cannot probe this load.
    pub fn probe(
        &self,
        spec: &LoadSpec,
        options: &Options,
        reads_files: bool,
        makers: &[&str],
    ) -> Result<Option<Probing>, Error> {
        let Some(probe) = &self.probe else { return Ok(None) };
        if reads_files {
            return usage(format!(
                "--probe {probe}: it sends requests that are described by flags alone, and these are in files"
            ));
        }
        let (access, about) = self.one("--probe", probe)?;
        if makers.contains(&about.id.as_str()) {
            return usage(format!("--probe {probe}: agent {} makes the load; name one that does not", about.id));
        }
        RemoteProbe::prepare(&access, &about, spec, options).map(Some)
    }

    /// The one agent that a flag names.
    fn one(&self, flag: &str, agent: &str) -> Result<(Access, About), Error> {
        let access = self.fleet.of_operator()?;
        let about = one(flag, agent, nats::agents(&access).map_err(failed)?)?;
        Ok((access, about))
    }

    /// The meter of the server of this target on the machine of the agent; `None` without one.
    ///
    /// # Errors
    /// There is no such agent, or no such server on its machine.
    pub fn meter(&self, flags: &ServiceFlags, target: &Target) -> Result<Option<Meter>, Error> {
        let Some((access, agent, addresses)) = self.agent(flags, target)? else { return Ok(None) };
        Ok(Some(Meter::There(Box::new(RemoteMeter::attach(&access, &agent, flags, addresses)?))))
    }

    /// The same for slices.
    ///
    /// # Errors
    /// As of [`Self::meter`].
    pub fn account(&self, flags: &ServiceFlags, target: &Target) -> Result<Option<MeteredServer>, Error> {
        if self.fleet.is_given() && !self.is_given() {
            return usage("--fleet says where agents are: add --meter");
        }
        let Some((access, agent, addresses)) = self.agent(flags, target)? else { return Ok(None) };
        let (account, process, moved_from) = RemoteAccount::attach(&access, &agent, flags, addresses)?;
        Ok(Some(MeteredServer { process, account: Ok(Box::new(account)), moved_from }))
    }

    /// The agent, and the addresses of the target as they are known here.
    fn agent(&self, flags: &ServiceFlags, target: &Target) -> Result<Option<(Access, About, Vec<String>)>, Error> {
        let Some(agent) = &self.agent else { return Ok(None) };
        let (access, about) = self.one("--meter", agent)?;
        let here = rustix::system::uname().nodename().to_string_lossy().into_owned();
        let is_loopback = |address: &Address| address.tcp().is_none_or(|tcp| tcp.ip().is_loopback());
        let own = target.addresses().into_iter().find(is_loopback);
        let is_named = flags.pid.is_some() || flags.server_cgroup.is_some();
        if let Some(address) = own.filter(|_| about.host != here && !is_named) {
            return usage(format!(
                "--meter {agent}: {address} is an address of this machine, and agent {} is on {}: load the server by the address of \
                 its machine, or name it with --server-pid or --server-cgroup",
                about.id, about.host
            ));
        }
        let addresses = target.addresses().iter().map(ToString::to_string).collect();
        Ok(Some((access, about, addresses)))
    }
}
