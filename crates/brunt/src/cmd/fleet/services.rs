//! What operators may have done on the machine of an agent, beside loads.

use super::allowed::Allowed;
use super::{account, ceiling, meter, probe, target};
use brunt_fleet::nats::{Service, Services};
use serde_json::Value;
use std::path::PathBuf;
use std::sync::Arc;

/// Those of this program.
pub(super) struct OwnServices {
    /// Targets that may be started.
    pub targets: Option<Arc<target::Targets>>,
    /// Whether servers of this machine may be metered.
    pub meter: bool,
    /// What may be loaded.
    pub allowed: Arc<Allowed>,
    /// Directory of the files of secrets.
    pub secrets: Option<PathBuf>,
}

impl Services for OwnServices {
    fn open(&self, service: &str, settings: Value) -> Result<Box<dyn Service>, String> {
        match service {
            meter::NAME | account::NAME if !self.meter => {
                Err("its owner allows no server to be metered: meter = true in its --config does".to_owned())
            }
            meter::NAME => meter::open(settings),
            account::NAME => account::open(settings),
            probe::NAME => probe::service::open(settings, &self.allowed, self.secrets.as_deref()),
            ceiling::NAME => ceiling::service::open(settings, &self.allowed, self.secrets.as_deref()),
            target::NAME => match &self.targets {
                Some(targets) => targets.open(settings),
                None => {
                    Err("its owner allows no targets to be started: brunt agent --targets PLAN says which".to_owned())
                }
            },
            other => Err(format!("there is no service '{other}': run the same version of brunt on all machines")),
        }
    }
}
