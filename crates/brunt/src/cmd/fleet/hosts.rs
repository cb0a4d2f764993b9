//! The hosts of a plan: agents of a fleet on which targets run, and those that make the load.

use super::access::{FleetFlag, failed};
use super::{chosen, one};
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

    /// Why targets of the plan (by name) cannot run on their hosts. Nothing is sent for a plan without hosts.
    pub fn unavailable(&self, plan: &Plan) -> Result<BTreeMap<String, String>, Error> {
        if plan.hosts.is_empty() {
            return match self.fleet.is_given() {
                true => Err(Error::Usage("--fleet says where agents are, and the plan has no [hosts]".to_owned())),
                false => Ok(BTreeMap::new()),
            };
        }
        let targets: Vec<&Target> = plan.targets.iter().filter(|target| target.skip.is_none()).collect();
        if targets.is_empty() {
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
        Ok(targets.into_iter().filter_map(|target| Some((target.name.clone(), why(target)?))).collect())
    }
}

/// Whether the agents of a host are there.
fn there(host: &str, wanted: &str, agents: Result<&Vec<About>, &Error>, is_one: bool) -> Result<(), String> {
    let agents = agents.map_err(ToString::to_string)?;
    // Others are known when the load is.
    if wanted.contains('{') {
        return Ok(());
    }
    let found = match is_one {
        true => one("agents", wanted, agents.clone()).map(drop),
        false => chosen("agents", wanted, agents.clone()).map(drop),
    };
    found.map_err(|error| format!("host {host}: {error}"))
}
