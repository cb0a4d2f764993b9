//! A program that was built without the feature `fleet` has no hosts but its own machine.

use brunt_lab::plan::Plan;
use brunt_results::Error;
use std::collections::BTreeMap;
use std::path::PathBuf;

#[derive(Debug, Default, clap::Args)]
pub(in crate::cmd) struct HostsFlag {}

impl HostsFlag {
    pub fn file(&self) -> Result<Option<PathBuf>, Error> {
        Ok(None)
    }

    pub fn unavailable(&self, plan: &Plan) -> Result<BTreeMap<String, String>, Error> {
        let why = "this program was built without the feature fleet, and the plan has [hosts]";
        let targets = plan.targets.iter().filter(|_| !plan.hosts.is_empty());
        Ok(targets.map(|target| (target.name.clone(), why.to_owned())).collect())
    }
}
