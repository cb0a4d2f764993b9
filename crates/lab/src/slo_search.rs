//! Search for the highest rate that meets an SLO: bracketing, bisection, confirmation.
//!
//! `search` selects the rates and is pure; `step` runs one load as a process; `text` formats the result.

mod search;
mod source;
mod step;
mod text;

pub use search::{Attempt, Range, Search, SearchResult, SloOutcome};
pub use source::{LoadSource, PlannedTarget};
pub use step::{LoadStep, Step};
pub use text::{closing, text};

use crate::{Error, system::process_registry::ProcessRegistry};
use brunt_results::{Rate, Slo, Span, directory::Directory};
use serde::Serialize;
use std::sync::atomic::{AtomicBool, Ordering};
use std::{fs, path::PathBuf, sync::Arc};

#[derive(Debug, Clone)]
pub struct Request {
    pub source: LoadSource,
    pub slo: Slo,
    pub range: Range,
    pub step: Span,
    pub confirm: Span,
    /// Seed of the first load; incremented for each step.
    pub seed: u64,
    pub out: PathBuf,
}

#[derive(Debug, Clone, Serialize)]
pub struct SearchReport {
    /// The target as typed, or the cell of the plan.
    pub url: String,
    /// What the times of the steps are, if not response times.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub times: Option<String>,
    pub slo: String,
    pub end: SearchResult,
    /// In execution order.
    pub steps: Vec<Step>,
}

/// Runs a search. `observe` is called before and after each load. `None` if it was interrupted.
pub fn run(
    request: &Request,
    stop: &AtomicBool,
    observe: &mut dyn FnMut(&Attempt, Option<&Step>),
) -> Result<Option<SearchReport>, Error> {
    let earlier = fs::read_dir(request.out.join("steps")).is_ok_and(|mut steps| steps.next().is_some());
    if earlier {
        let place = request.out.display();
        return Err(Error::Usage(format!("{place} holds the loads of another search: --out DIR puts these elsewhere")));
    }
    let directory = Directory::create(&request.out)?;
    let steps_dir = Directory::create(request.out.join("steps"))?;
    let (ledger, _) = ProcessRegistry::open(&steps_dir.path().join("running.json"))?;
    let ledger = Arc::new(ledger);
    if let LoadSource::Planned(planned) = &request.source
        && !planned.build(&request.out.join("build.log"), &ledger, stop)?
    {
        return Ok(None);
    }
    let mut search = Search::new(request.range);
    let mut steps: Vec<Step> = Vec::new();
    let end = loop {
        let next = match search.next() {
            Ok(next) => next,
            Err(end) => break end,
        };
        observe(&next, None);
        let number = steps.len() + 1;
        let dir = steps_dir.path().join(format!("{number:02}-rate={}", Rate(next.rate)));
        let ask = LoadStep { request, number, next, dir };
        let Some(step) = ask.run(&ledger, stop)? else { return Ok(None) };
        observe(&next, Some(&step));
        search.tell(step.outcome);
        steps.push(step);
        if stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
    };
    let times = request.source.tester().filter(|_| request.source.starts_at_send()).map(|tester| {
        format!("{} starts its clock when it sends: all times, those of the SLO too, are service times", tester.name)
    });
    let found = SearchReport { url: request.source.name(), times, slo: request.slo.to_string(), end, steps };
    directory.write_json("find.json", &found)?;
    Ok(Some(found))
}
