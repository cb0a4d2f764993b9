//! The agent's end.

use super::{Question, Settings};
use crate::cmd::fleet::allowed::Allowed;
use crate::cmd::fleet::{generator, secrets};
use crate::cmd::load;
use brunt_fleet::nats::Service;
use brunt_load::Options;
use brunt_results::named;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

struct Ceiling {
    options: Options,
    body: u64,
}

/// Prepares the part of this machine.
///
/// # Errors
/// It is not allowed, or reads a file.
pub(in crate::cmd::fleet) fn open(
    settings: Value,
    allowed: &Allowed,
    directory: Option<&Path>,
) -> Result<Box<dyn Service>, String> {
    let Settings { spec, threads, first, end, body } =
        serde_json::from_value(settings).map_err(|error| error.to_string())?;
    let spec = secrets::own(spec, directory)?;
    // No file of this machine is read but secrets.
    let options = named::copied(BTreeMap::new(), || load::resolved_here(&spec, false))?;
    let own = options.threads.clone();
    let options = generator::part_of(options, threads, first..end, allowed)?;
    let connections = options.connections_of(first..end);
    Ok(Box::new(Ceiling { options: Options { threads: own, connections, ..options }, body }))
}

impl Service for Ceiling {
    fn ask(&mut self, question: Value) -> Result<Value, String> {
        let Question::Measure = serde_json::from_value(question).map_err(|error| error.to_string())?;
        let rate = brunt_load::calibrate::ceiling(&self.options, &[], self.body);
        rate.map(Value::from).map_err(|error| error.to_string())
    }
}
