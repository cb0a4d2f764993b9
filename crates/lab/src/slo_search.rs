//! The highest rate at which a service keeps its SLO: bracketed, bisected, confirmed.
//!
//! `search` decides which rate comes next and is pure; `step` runs one load as a process; `text` shows the knee.

mod search;
mod step;
mod text;

pub use search::{Attempt, Range, Search, SearchResult, SloOutcome};
pub use step::{LoadStep, Step};
pub use text::{closing, text};

use crate::{Error, system::process_registry::ProcessRegistry};
use brunt_results::{Rate, Slo, Span, directory::Directory};
use serde::Serialize;
use std::{
    fs,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

/// What is asked for.
#[derive(Debug, Clone)]
pub struct Request {
    /// The binary whose `load` makes the load.
    pub brunt: PathBuf,
    /// The target as typed.
    pub url: String,
    /// Further flags for `load`.
    pub flags: Vec<String>,
    /// What is to hold.
    pub slo: Slo,
    /// Where to look.
    pub range: Range,
    /// The measured window of a step.
    pub step: Span,
    /// The measured window of the confirmation.
    pub confirm: Span,
    /// Seed of the first load; each step has the next one.
    pub seed: u64,
    /// Where the results of all steps are kept.
    pub out: PathBuf,
}

/// What was found, as `find.json` keeps it.
#[derive(Debug, Clone, Serialize)]
pub struct SearchReport {
    /// The target as typed.
    pub url: String,
    /// What was to hold.
    pub slo: String,
    /// How it ended.
    pub end: SearchResult,
    /// All loads, in the order in which they were run.
    pub steps: Vec<Step>,
}

/// Searches; `told` hears of each load before it and after it. `None` if that was interrupted.
///
/// # Errors
/// A load could not be made, or its result could not be kept, or there are those of another search.
pub fn run(
    request: &Request,
    stop: &AtomicBool,
    told: &mut dyn FnMut(&Attempt, Option<&Step>),
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
    let mut search = Search::new(request.range);
    let mut steps: Vec<Step> = Vec::new();
    let end = loop {
        let next = match search.next() {
            Ok(next) => next,
            Err(end) => break end,
        };
        told(&next, None);
        let number = steps.len() + 1;
        let ask = LoadStep { request, number, next, dir: steps_dir.path().join(name(number, next.rate)) };
        let Some(step) = ask.run(&ledger, stop)? else {
            return Ok(None);
        };
        told(&next, Some(&step));
        search.tell(step.outcome);
        steps.push(step);
        if stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
    };
    let found = SearchReport { url: request.url.clone(), slo: request.slo.to_string(), end, steps };
    directory.write_json("find.json", &found)?;
    Ok(Some(found))
}

/// The directory of a step: `07-rate=12.5k`.
fn name(number: usize, rate: f64) -> String {
    format!("{number:02}-rate={}", Rate(rate))
}
