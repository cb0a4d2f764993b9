//! The source of the counts that a plan names.

use crate::plan;
use crate::signals::requests::{From, METRICS_EVERY};
use std::io;

pub(super) fn from(plan: &plan::Source) -> io::Result<From> {
    let every = plan.every.map(|every| every.0);
    Ok(match plan {
        plan::Source { load: Some(arguments), .. } => From::Load(arguments.clone()),
        plan::Source { file: Some(path), .. } => From::File(path.clone()),
        plan::Source { command: Some(command), .. } => From::Command(command.clone()),
        plan::Source { probe: Some(url), .. } => From::Probe { url: url.clone(), every },
        plan::Source { prometheus: Some(url), metric: Some(histogram), .. } => {
            From::Prometheus { url: url.clone(), histogram: histogram.clone(), every: every.unwrap_or(METRICS_EVERY) }
        }
        _ => return Err(io::Error::new(io::ErrorKind::InvalidInput, "[source] names nothing to read counts from")),
    })
}
