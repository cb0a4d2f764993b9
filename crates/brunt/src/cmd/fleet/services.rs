//! What operators may have done on the machine of an agent, beside loads.

use super::{account, meter};
use brunt_fleet::nats::{Service, Services};
use serde_json::Value;

/// Those of this program.
pub(super) struct OwnServices;

impl Services for OwnServices {
    fn open(&self, service: &str, settings: Value) -> Result<Box<dyn Service>, String> {
        match service {
            meter::NAME => meter::open(settings),
            account::NAME => account::open(settings),
            other => Err(format!("there is no service '{other}': run the same version of brunt on all machines")),
        }
    }
}
