//! Whether what a plan names is on this machine. Nothing is started or changed.

use super::service;
use crate::actuators;
use crate::plan::Plan;
use crate::policy::choice::Choice;
use brunt_meter::affinity;
use brunt_results::{Cores, program};

/// # Errors
/// Something is not: the key of the plan, what is wrong, and the remedy where that is not plain.
pub fn check(plan: &Plan) -> Result<(), String> {
    let count = cores(plan)?.len();
    let most = [("floor", Some(plan.floor)), ("policy static", static_cores(plan))];
    if let Some((name, cores)) = most.into_iter().find(|(_, cores)| cores.is_some_and(|cores| cores > count as f64)) {
        let cores = cores.unwrap_or_default();
        return Err(format!("{name} = {cores}: jobs have {count} cores at most; give a lower one"));
    }
    if let Some(cores) = &plan.service.cores {
        allowed("[service] cores", cores)?;
    }
    let commands = [("[service]", &plan.service.command), ("[source]", &plan.source.command)];
    for (table, words) in commands {
        if let Some(program) = words.as_ref().and_then(|words| words.first())
            && program::find(program).is_none()
        {
            return Err(format!("{table} command: {program}: there is no such program; give its path"));
        }
    }
    if plan.service.command.is_none() {
        service::running(&plan.service).map_err(|why| format!("[service] {why}"))?;
    }
    actuators::check(plan.limits.disk().as_ref(), plan.limits.network().as_ref())
        .map_err(|why| format!("[limits] {why}"))
}

fn static_cores(plan: &Plan) -> Option<f64> {
    if let Choice::Static(cores) = plan.policy { Some(cores) } else { None }
}

/// The cores of the jobs.
pub(super) fn cores(plan: &Plan) -> Result<Vec<usize>, String> {
    match &plan.cores {
        Some(cores) => allowed("cores", cores).map(|()| cores.0.clone()),
        None => affinity::allowed().map_err(|error| error.to_string()),
    }
}

fn allowed(name: &str, cores: &Cores) -> Result<(), String> {
    let allowed = affinity::allowed().map_err(|error| error.to_string())?;
    match cores.0.iter().find(|core| !allowed.contains(core)) {
        Some(core) => Err(format!("{name}: there is no core {core} for this process; see brunt doctor")),
        None => Ok(()),
    }
}
