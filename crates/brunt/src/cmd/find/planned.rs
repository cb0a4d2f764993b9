//! `brunt find --plan`: reads the plan and selects the one load of the target.

use super::Args;
use crate::cmd::{current_binary, run};
use brunt_diagnostic::suggest::did_you_mean;
use brunt_lab::run::{Request, preflight};
use brunt_lab::schedule::{Machine, Schedule};
use brunt_lab::slices::Generator;
use brunt_lab::slo_search::PlannedTarget;
use brunt_lab::testers::Tester;
use brunt_results::Error;
use std::path::Path;
use std::rc::Rc;

/// Reads files and writes none.
pub(super) fn target(
    args: &Args,
    plan: &str,
    out: &Path,
    generator: Rc<dyn Generator>,
) -> Result<PlannedTarget, Error> {
    let name = args.target.as_deref().unwrap_or_default();
    let (mut plan, plan_text, base) = run::find_plan(plan)?;
    let known: Vec<&str> = plan.targets.iter().map(|target| target.name.as_str()).collect();
    if !known.contains(&name) {
        return Err(Error::Usage(format!("--target '{name}' is not in the plan{}", did_you_mean(name, &known))));
    }
    let settings = [("rate", Some(args.from.to_string())), ("tester", args.tester.clone())];
    for (name, value) in settings.into_iter().filter_map(|(name, value)| Some((name, value?))) {
        plan.set(name, &value).map_err(|e| Error::Usage(format!("--{e}")))?;
    }
    let only: Vec<String> = std::iter::once(format!("target={name}")).chain(args.only.iter().cloned()).collect();
    let hosts = run::HostsFlag::default();
    let mut unavailable = preflight::unavailable(&plan, &base, run::no_uring().as_deref());
    unavailable.extend(hosts.unavailable(&plan)?);
    let schedule = Schedule::new(&plan, &Machine::here()?, &unavailable, &only)?;
    let brunt = current_binary()?;
    let request = Request {
        plan,
        plan_text,
        base,
        out: out.to_owned(),
        fresh: false,
        tester: Tester::brunt(&brunt),
        generator: Some(generator),
        brunt,
        fleet: hosts.file()?,
        command: run::command(),
    };
    PlannedTarget::new(request, &schedule)
}
