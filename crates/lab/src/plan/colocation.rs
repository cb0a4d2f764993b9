//! Best-effort jobs beside the target: `[colocation]` and `[[co_runner]]`.

use super::policy::POLICIES;
use super::references::References;
use super::source::{Source, Table, Value};
use super::{Plan, PlanError, keys};
use brunt_diagnostic::suggest::did_you_mean;
use brunt_results::latency::share_beyond;
use brunt_results::{Cores, Rate, Threshold};
use serde::{Deserialize, Serialize};
use toml::de::DeTable;

/// A quantile of the response times that stays below a limit.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Objective {
    /// Name of the quantile: `p99`.
    pub figure: String,
    pub limit_ms: f64,
}

impl Objective {
    /// Largest share of slow requests.
    pub fn budget(&self) -> f64 {
        share_beyond(&self.figure).unwrap_or(0.0)
    }
}

/// `[colocation]`: the service as the controller sees it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Colocation {
    /// As typed.
    pub slo: String,
    pub objective: Objective,
    /// Requests a second at which the load is 100 %.
    pub peak: Rate,
    /// Of the jobs; `None` is the server's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cores: Option<Cores>,
}

/// `[[co_runner]]`: a best-effort job.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CoRunner {
    pub name: String,
    /// What it competes for, for readers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource: Option<String>,
    /// Words with placeholders.
    pub command: Vec<String>,
    /// Pattern of its progress in its output; `None` measures its CPU time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progress: Option<String>,
}

/// What a cell runs beside its target.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Beside<'p> {
    pub policy: &'p str,
    pub co_runner: &'p CoRunner,
    pub colocation: &'p Colocation,
}

impl Plan {
    /// What runs beside the target under these settings; `None` if the plan does not say. The error is one line.
    pub fn beside<'p>(
        &'p self,
        policy: Option<&'p str>,
        co_runner: Option<&str>,
    ) -> Result<Option<Beside<'p>>, String> {
        let (policy, name) = match (policy, co_runner) {
            (None, None) => return Ok(None),
            (Some(policy), Some(name)) => (policy, name),
            (Some(policy), None) => {
                return Err(format!(
                    "policy {policy} has no job to decide about: set co_runner to the name of a [[co_runner]]"
                ));
            }
            (None, Some(name)) => {
                return Err(format!("co_runner {name} has no policy: set policy, one of {}", POLICIES.join(", ")));
            }
        };
        let known: Vec<&str> = self.co_runners.iter().map(|one| one.name.as_str()).collect();
        let co_runner = self.co_runners.iter().find(|one| one.name == name);
        let co_runner =
            co_runner.ok_or_else(|| format!("no [[co_runner]] is named '{name}'{}", did_you_mean(name, &known)))?;
        let missing = || "the service has no objective: add [colocation] with slo and peak".to_owned();
        let colocation = self.colocation.as_ref().ok_or_else(missing)?;
        Ok(Some(Beside { policy, co_runner, colocation }))
    }
}

pub(super) fn colocation(text: &Source, value: &Value, key: &str) -> Result<Colocation, PlanError> {
    let table = text.keyed(text.table(value, key)?, "[colocation]", keys::COLOCATION)?;
    let slo = table.read("slo", |text, value, key| {
        let slo = text.string(value, key)?;
        let objective = objective(&slo).map_err(|why| text.error(value.span(), format!("slo {why}")))?;
        Ok((slo, objective))
    })?;
    let peak = table.read("peak", Source::parsed)?;
    let missing = "[colocation] needs an slo, such as \"p99<6ms\", and a peak in requests a second, such as \"10k\"";
    let (Some((slo, objective)), Some(peak)) = (slo, peak) else {
        return Err(text.error(value.span(), missing));
    };
    Ok(Colocation { slo, objective, peak, cores: table.read("cores", Source::parsed)? })
}

fn objective(slo: &str) -> Result<Objective, String> {
    let bound: Threshold = slo.parse()?;
    match share_beyond(&bound.figure) {
        Some(_) if !bound.is_above => Ok(Objective { figure: bound.figure, limit_ms: bound.bound / 1e3 }),
        _ => Err(format!("'{slo}' is no upper bound of a percentile: write it as p99<6ms")),
    }
}

/// Reads every `[[co_runner]]`.
pub(super) fn co_runners(document: &Table, plan: &mut Plan, references: &mut References) -> Result<(), PlanError> {
    for (table, place) in document.tables("co_runner")? {
        let one = one_co_runner(document.text, table, references)?;
        if plan.co_runners.iter().any(|known| known.name == one.name) {
            return Err(document.text.error(place, format!("two co-runners have the name '{}'", one.name)));
        }
        plan.co_runners.push(one);
    }
    Ok(())
}

fn one_co_runner(text: &Source, table: &DeTable, references: &mut References) -> Result<CoRunner, PlanError> {
    let table = text.keyed(table, "[[co_runner]]", keys::CO_RUNNER)?;
    let name = table.read("name", Source::name)?;
    let name = name.ok_or_else(|| text.error(table.start(), "this co-runner has no name: add name = \"...\""))?;
    let command = table.read("command", |text, value, key| {
        for (word, at) in text.strings(value, key)? {
            references.check(text, &word, at.span(), true)?;
        }
        match text.words(value, key)? {
            words if words.first().is_some_and(|program| !program.is_empty()) => Ok(words),
            _ => Err(text.error(value.span(), format!("{key} names no program"))),
        }
    })?;
    let missing = || text.error(table.start(), format!("co-runner '{name}' has no command"));
    let command = command.ok_or_else(missing)?;
    let resource = table.read("resource", Source::string)?;
    Ok(CoRunner { command, resource, progress: table.read("progress", Source::string)?, name })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::read;

    const PLAN: &str = "name = 'p'\n[load]\nconnections = 8\nrate = '1k'\n[colocation]\nslo = 'p99 < 6ms'\npeak = '10k'\n\
                        [sweep]\nco_runner = ['memory']\npolicy = ['alone', 'static=0.50']\n\
                        [[co_runner]]\nname = 'memory'\ncommand = ['{brunt}', 'stress', 'memory']\n\
                        [[target]]\nname = 't'\ncommand = ['s', '{port}']\n";

    #[test]
    fn a_plan_with_co_runners_runs_by_trials_and_its_cells_know_them() {
        let plan = read("p", PLAN).unwrap();
        assert_eq!(plan.sweeps[0].axes[1].values, ["alone", "static=0.5"]);
        assert!(!plan.is_sliced());
        let beside = plan.beside(Some("graded"), Some("memory")).unwrap().unwrap();
        assert_eq!(beside.colocation.objective, Objective { figure: "p99".to_owned(), limit_ms: 6.0 });
        assert_eq!((beside.colocation.objective.budget(), beside.co_runner.command.len()), (0.01, 3));
        assert_eq!(plan.beside(None, None), Ok(None));
    }

    #[test]
    fn what_is_missing_or_unknown_is_named() {
        for (from, to, said) in [
            ("'p99 < 6ms'", "'mean<6ms'", "'mean<6ms' is no upper bound of a percentile"),
            ("'p99 < 6ms'", "'p99>6ms'", "is no upper bound"),
            ("peak = '10k'", "", "[colocation] needs an slo"),
            ("'static=0.50'", "'statik'", "'statik' is not a policy"),
            ("'static=0.50'", "'static=CORES'", "'static=CORES' is not a policy"),
            (
                "co_runner = ['memory']",
                "co_runner = ['memori']",
                "no [[co_runner]] is named 'memori'; did you mean 'memory'?",
            ),
            ("co_runner = ['memory']", "", "policy alone has no job"),
            ("policy = ['alone', 'static=0.50']", "", "co_runner memory has no policy"),
            ("[colocation]\nslo = 'p99 < 6ms'\npeak = '10k'\n", "", "the service has no objective"),
            ("'{brunt}'", "'{brnt}'", "unknown placeholder {brnt}"),
            ("command = ['{brunt}', 'stress', 'memory']", "", "co-runner 'memory' has no command"),
        ] {
            assert!(PLAN.contains(from), "{from}");
            let error = read("p", &PLAN.replace(from, to)).unwrap_err().to_string();
            assert!(error.contains(said), "{to}: {error}");
        }
    }
}
