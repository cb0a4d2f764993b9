//! The hosts of a plan: agents of a fleet on which targets run, and those that make the load.

use super::access::{FleetFlag, failed};
use super::chosen;
use brunt_fleet::nats::{self, About};
use brunt_lab::plan::{Plan, Target, hosts};
use brunt_results::Error;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The fleet of `brunt run`.
#[derive(Debug, Default, clap::Args)]
pub(in crate::cmd) struct HostsFlag {
    #[command(flatten)]
    fleet: FleetFlag,
}

impl HostsFlag {
    /// The file of the fleet, if one was named, as another program finds it.
    pub fn file(&self) -> Result<Option<PathBuf>, Error> {
        Ok(self.fleet.file().map(std::path::absolute).transpose()?)
    }

    /// Why targets of the plan (by name) cannot run on their hosts. Asks nobody if the plan has no hosts.
    pub fn unavailable(&self, plan: &Plan) -> Result<BTreeMap<String, String>, Error> {
        let wanted = |target: &&Target| target.skip.is_none();
        if plan.hosts.is_empty() {
            return match self.fleet.is_given() {
                true => Err(Error::Usage("--fleet says where agents are, and the plan has no [hosts]".to_owned())),
                false => Ok(BTreeMap::new()),
            };
        }
        if !plan.targets.iter().any(|target| wanted(&target)) {
            return Ok(BTreeMap::new());
        }
        let agents = self.fleet.of_operator().and_then(|access| nats::agents(&access).map_err(failed));
        let why = |target: &Target| {
            let of = |host: &str| {
                plan.hosts.get(host).map(|wanted| there(host, wanted, agents.as_ref(), host != hosts::LOAD))
            };
            let hosts = target.on.iter().map(String::as_str).chain([hosts::LOAD]);
            hosts.filter_map(of).find_map(Result::err)
        };
        let targets = plan.targets.iter().filter(wanted);
        Ok(targets.filter_map(|target| Some((target.name.clone(), why(target)?))).collect())
    }
}

/// Whether the agents of a host are there.
fn there(host: &str, wanted: &str, agents: Result<&Vec<About>, &Error>, is_one: bool) -> Result<(), String> {
    let agents = agents.map_err(ToString::to_string)?;
    // Others are known when the load is.
    if wanted.contains('{') {
        return Ok(());
    }
    let found = chosen("agents", wanted, agents.clone()).map_err(|error| format!("host {host}: {error}"))?;
    match found.len() {
        many @ 2.. if is_one => Err(format!("host {host}: a target is on one machine, and {wanted} are {many} agents")),
        _ => Ok(()),
    }
}
