//! Search for the highest rate that meets an SLO: rates alternate in random order, so that a slow spell of the machine hits all
//! of them alike.
//!
//! `search` selects the rates, `bounds` and `evidence` say what samples mean, all pure; `sliced` makes slices on a target that
//! stays up, `runs` whole runs of a tester; `text` and `curve` show the result.

mod bounds;
mod command;
mod curve;
mod evidence;
mod page;
mod runs;
mod search;
mod sliced;
mod source;
mod step;
mod text;
mod whole;

pub use command::CommandedLoads;
pub use curve::curve;
pub use page::page;
pub use search::{Range, SearchResult};
pub use sliced::RatedSlice;
pub use source::{LoadSource, Metered, PlannedTarget};
pub use step::{SloOutcome, Step};
pub use text::{closing, text};

use crate::clock;
use crate::run::single::{Gone, SingleTarget};
use crate::run::trial::{TrialGroup, TrialRunner, TrialSpec};
use crate::slices::participant::Participant;
use crate::system::process_registry::ProcessRegistry;
use bounds::Sample;
use brunt_meter::proc_stat::has_ended;
use brunt_results::{Error, Slo, Span, directory::Directory};
use runs::Runs;
use search::{Effort, Search};
use serde::Serialize;
use sliced::Slices;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use std::{fs, path::PathBuf, sync::Arc};

#[derive(Debug, Clone)]
pub struct Request {
    pub source: LoadSource,
    pub slo: Slo,
    pub range: Range,
    /// Measured time at a rate before it counts as held or broken; the window of a tester's run.
    pub step: Span,
    /// Measured time at the rates of the result.
    pub confirm: Span,
    /// Shortest slice.
    pub slice: Span,
    /// Time for the search.
    pub budget: Span,
    /// Seed of the first round; each has another one.
    pub seed: u64,
    pub out: PathBuf,
    /// Command line of the search.
    pub command: Vec<String>,
}

impl Request {
    /// Command lines of the target, if the plan starts it, and of the search, by what they start.
    fn started(&self) -> Vec<(String, String)> {
        let target = match &self.source {
            LoadSource::Url { .. } | LoadSource::Command(_) => None,
            LoadSource::Planned(planned) => Some((planned.target().name.clone(), planned.target().kind.words())),
        };
        let search = (!self.command.is_empty()).then(|| ("measured by".to_owned(), self.command.join(" ")));
        target.into_iter().chain(search).collect()
    }
}

#[derive(Debug, Clone, Serialize)]
pub struct SearchReport {
    /// The target as typed, or the cell of the plan.
    pub url: String,
    /// What the times of the steps are, if not response times.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub times: Option<String>,
    pub slo: String,
    /// The SLO's first bound on a time, in microseconds, with the name of its figure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bound: Option<(String, f64)>,
    pub end: SearchResult,
    /// Probability with which each end of the result is on its side.
    pub confidence: f64,
    pub rounds: usize,
    pub doubts: Vec<String>,
    /// Slices: one a rate. Runs: one each. In the order of trying.
    pub steps: Vec<Step>,
}

/// How far a search is.
#[derive(Debug, Clone, PartialEq)]
pub struct State {
    /// Whether rates are tried one by one to find their order of magnitude.
    pub is_ascending: bool,
    /// Rates that were just tried.
    pub rates: Vec<f64>,
    pub rounds: usize,
    /// Highest rate that holds, and lowest that breaks.
    pub bracket: (Option<f64>, Option<f64>),
    /// Time until the end of the search as expected, once both ends of the bracket are known.
    pub expected: Option<Duration>,
    /// Time until the budget is over.
    pub at_most: Duration,
}

/// What all loads of a search have in common.
#[derive(Clone, Copy)]
struct Context<'a> {
    request: &'a Request,
    registry: &'a Arc<ProcessRegistry>,
    stop: &'a AtomicBool,
}

impl Context<'_> {
    /// What the request asks for, with these numbers of samples and of rates.
    fn effort(&self, samples: usize, between: usize) -> Effort {
        let [step_s, confirm_s] = [self.request.step, self.request.confirm].map(|span| span.0.as_secs_f64());
        Effort { step_s, confirm_s, samples, between }
    }
}

/// Makes the loads of a search.
trait Sampler {
    /// One sample of each rate, in random order; `None` if the search was interrupted.
    fn round(&mut self, rates: &[f64]) -> Result<Option<Vec<Sample>>, Error>;

    fn steps(&mut self, search: &Search, steps_dir: &Path) -> Result<Vec<Step>, Error>;

    /// What the result depends on beside the target.
    fn doubts(&self, search: &Search) -> Vec<String>;
}

/// Runs a search and writes its files. `observe` is called after each round. `None` if it was interrupted.
pub fn run(
    request: &Request,
    stop: &AtomicBool,
    observe: &mut dyn FnMut(&State),
) -> Result<Option<SearchReport>, Error> {
    let earlier = fs::read_dir(request.out.join("steps")).is_ok_and(|mut steps| steps.next().is_some());
    if earlier {
        let place = request.out.display();
        return Err(Error::Usage(format!("{place} holds the loads of another search: --out DIR puts these elsewhere")));
    }
    let directory = Directory::create(&request.out)?;
    let steps_dir = Directory::create(request.out.join("steps"))?;
    let (registry, _) = ProcessRegistry::open(&steps_dir.path().join("running.json"))?;
    let registry = Arc::new(registry);
    if let LoadSource::Planned(planned) = &request.source
        && !planned.build(&request.out.join("build.log"), &registry, stop)?
    {
        return Ok(None);
    }
    let context = Context { request, registry: &registry, stop };
    let found = made(context, steps_dir.path(), observe)?;
    if let Some(found) = &found {
        directory.write_json("find.json", found)?;
        directory.write("knee.svg", curve(found)?.as_bytes())?;
        directory.write("report.html", page(found, &request.started())?.as_bytes())?;
    }
    Ok(found)
}

fn made(context: Context, steps_dir: &Path, observe: &mut dyn FnMut(&State)) -> Result<Option<SearchReport>, Error> {
    let mut by_slices = |participant: Participant, gone: &mut Gone| {
        let search = Search::new(context.request.range, sliced::effort(&context), sliced::bounds_of(&context));
        let mut sampler = Slices::begin(context, participant, gone)?;
        conduct(context, search, &mut sampler, steps_dir, observe)
    };
    match &context.request.source {
        LoadSource::Url { url, words, server, account, generator } => {
            let connections = match generator.open(words) {
                Err(_) if context.stop.load(Ordering::Relaxed) => return Ok(None),
                opened => opened.map_err(Error::Failed)?,
            };
            let participant = Participant {
                name: url.clone(),
                loader: Box::new(connections),
                process: *server,
                server: account.take(),
                freezable: None,
            };
            let gone = |pid: &u32| format!("the server, process {pid}, has ended");
            by_slices(participant, &mut || server.filter(|pid| has_ended(*pid)).as_ref().map(gone))
        }
        LoadSource::Planned(planned) if context.request.source.is_by_runs() => {
            let search = Search::new(context.request.range, runs::effort(&context), runs::bounds_of());
            conduct(context, search, &mut Runs::new(context, &**planned, steps_dir), steps_dir, observe)
        }
        LoadSource::Command(loads) => {
            let search = Search::new(context.request.range, runs::effort(&context), runs::bounds_of());
            conduct(context, search, &mut Runs::new(context, &**loads, steps_dir), steps_dir, observe)
        }
        LoadSource::Planned(planned) => {
            let runner = TrialRunner { request: &planned.run, registry: context.registry, stop: context.stop };
            let mut cell = planned.cell.clone();
            cell.settings.rate = Some(crate::plan::settings::Amount::Total(context.request.range.from));
            let trials = vec![TrialSpec { cell: &cell, number: 1, dir: context.request.out.join("target") }];
            let group = TrialGroup { trials, target: planned.target(), repeat: 1, seed: context.request.seed };
            let generator = &*planned.generator()?;
            SingleTarget { runner: &runner, generator, group: &group }.with(by_slices)
        }
    }
}

/// Makes rounds until the search is over or the time is up.
fn conduct(
    context: Context,
    mut search: Search,
    sampler: &mut dyn Sampler,
    steps_dir: &Path,
    observe: &mut dyn FnMut(&State),
) -> Result<Option<SearchReport>, Error> {
    let started = clock::now();
    let until = started + context.request.budget.0;
    let mut measured_s = 0.0;
    loop {
        let rates = search.next();
        if rates.is_empty() || clock::now() >= until {
            break;
        }
        let is_ascending = search.is_ascending();
        let Some(samples) = sampler.round(&rates)? else { return Ok(None) };
        measured_s += samples.iter().map(|sample| sample.measured_s).sum::<f64>();
        search.tell(samples);
        let at_most = until.saturating_duration_since(clock::now());
        // A second of measurement takes longer than a second.
        let expected =
            search.needed_s().map(|needed_s| clock::since(started).mul_f64(needed_s / f64::max(measured_s, 1e-3)));
        let expected = expected.map(|expected| expected.min(at_most));
        let (rounds, bracket) = (search.rounds().0, search.bracket());
        observe(&State { is_ascending, rates, rounds, bracket, expected, at_most });
        if context.stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
    }
    let steps = sampler.steps(&search, steps_dir)?;
    let mut doubts = Vec::new();
    if !search.is_precise() {
        let Request { budget, range, .. } = context.request;
        doubts.push(format!(
            "the time was over after {budget}, before the limit was known to {} % and confirmed: --budget gives more",
            brunt_results::units::trimmed(range.precision * 100.0)
        ));
    }
    if search.is_contradictory() {
        doubts.push("some rate broke although a higher one holds; neither counts".to_owned());
    }
    doubts.extend(sampler.doubts(&search));
    Ok(Some(report(context.request, &search, steps, doubts)))
}

fn report(request: &Request, search: &Search, steps: Vec<Step>, doubts: Vec<String>) -> SearchReport {
    let times = request.source.tester().filter(|_| request.source.starts_at_send()).map(|tester| {
        format!("{} starts its clock when it sends: all times, those of the SLO too, are service times", tester.name)
    });
    let limited =
        |rate: f64| steps.iter().any(|step| step.rate == rate && step.outcome == SloOutcome::GeneratorLimited);
    let end = match search.end() {
        SearchResult::Holds { rate, breaks } if limited(breaks) => {
            SearchResult::GeneratorLimited { rate: Some(rate), limited: breaks }
        }
        SearchResult::Never { lowest } if limited(lowest) => {
            SearchResult::GeneratorLimited { rate: None, limited: lowest }
        }
        end => end,
    };
    let time = request.slo.conditions().iter().find(|condition| condition.is_time());
    SearchReport {
        url: request.source.name(),
        times,
        slo: request.slo.to_string(),
        bound: time.map(|condition| (condition.figure.clone(), condition.bound)),
        end,
        confidence: (1.0 + evidence::CONFIDENCE) / 2.0,
        rounds: search.rounds().0,
        doubts,
        steps,
    }
}
