//! Measures the cost of servers over their rate: slices of one length take turns over targets and rates, until the intervals are
//! narrow or the time is over. What the slices say is found by [`brunt_slices::cost`].
//!
//! ```text
//! open (rates, connections) -> rounds (slice_length) -> analysis -> report: text, cost.json, cost.svg, report.html
//! ```
//!
//! No process is stopped between slices, so that an idle target has its own standing cost.

mod open;
mod page;
mod picture;
mod report;
mod slice_length;
mod text;

pub use page::page;
pub use picture::picture;
pub(crate) use report::FILE as REPORT;
pub use report::{CostReport, Length};
pub(crate) use text::{fit as line_words, terms as terms_words};
pub use text::{progress, text};

use crate::clock;
use crate::slices::Generator;
use crate::slices::account::TargetAccount;
use crate::slices::points::Wanted;
use crate::slices::rounds::Rounds;
use brunt_results::{Error, Span, directory::Directory, env::Env};
use brunt_slices::cost::{CostAnalysis, CostSlice, LEAST_ROUNDS, Settings, analyse, length};
use brunt_slices::record::FILE;
use slice_length::SliceLength;
use std::fs::File;
use std::io::{Seek, Write};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Time for each target at each rate, unless the user sets one.
const BUDGET_EACH: Duration = Duration::from_secs(42);
const WARMUP: Duration = Duration::from_millis(500);
/// The part of the budget in which slices may be made longer.
const LENGTH_PART: u32 = 3;
/// A target that has answered nothing in so many rounds is taken out.
const DEAD: usize = 2;

/// The rates of a measurement.
#[derive(Debug, Clone, PartialEq)]
pub enum Rates {
    /// Requests a second.
    List(Vec<f64>),
    /// Shares of what the slowest target answers in a closed loop.
    Auto,
}

/// A running server.
pub struct Target<'a> {
    pub name: String,
    /// Arguments of `brunt load` for it, without a rate.
    pub words: Vec<String>,
    /// The same for a closed loop.
    pub closed_words: Vec<String>,
    pub process: Option<u32>,
    /// `None` if it is not metered.
    pub server: Option<Box<dyn TargetAccount + 'a>>,
}

/// What is to be measured.
pub struct Request<'a> {
    pub targets: Vec<Target<'a>>,
    pub rates: Rates,
    /// Length of the slices; found if `None`.
    pub slice: Option<Span>,
    /// Half width of the intervals at which to stop, as a share.
    pub precision: f64,
    pub budget: Option<Span>,
    pub seed: u64,
    pub out: PathBuf,
    pub env: Env,
    pub generator: Rc<dyn Generator>,
    /// Shown under the result.
    pub notes: Vec<String>,
}

/// How far a measurement is.
#[derive(Debug, Clone, PartialEq)]
pub enum State {
    /// The peak of each target is looked for.
    Peaks,
    Rounds {
        made: usize,
        /// Rounds that would do, by the intervals so far.
        needed: Option<usize>,
        /// Half width of the widest interval, as a share.
        half: Option<f64>,
        /// Length of the slices.
        slice: Duration,
        /// Time until the budget is over.
        left: Duration,
    },
}

/// Measures, and writes the files. `observe` is called at each change of state. Once `stop` is set, ends with what is known; `None`
/// if that is nothing.
///
/// # Errors
/// No target can be loaded, or the load cannot be made at all.
pub fn run(request: Request, stop: &AtomicBool, observe: &mut dyn FnMut(&State)) -> Result<Option<CostReport>, Error> {
    if request.out.join(REPORT).exists() || request.out.join(FILE).exists() {
        let place = request.out.display();
        return Err(Error::Usage(format!("{place} holds another measurement: --out DIR puts this one elsewhere")));
    }
    let directory = Directory::create(&request.out)?;
    let begun = clock::now();
    let Request { targets, rates, slice, precision, budget, seed, out, env, generator, mut notes } = request;
    let names: Vec<String> = targets.iter().map(|target| target.name.clone()).collect();
    let opened = open::open(targets, &rates, &*generator, stop, observe)?;
    let Some(open::Open { participants, rates, absent, peaks }) = opened else { return Ok(None) };
    notes.extend(peaks);
    let settings = Settings { targets: names, rates };
    let points = (settings.targets.len() - absent.len()) * settings.rates.len();
    let budget = budget.map_or(BUDGET_EACH * points as u32, |budget| budget.0);
    let first = slice.map_or(length::FIRST, |slice| slice.0);
    let mut rounds = Rounds::begin(participants, 1, seed, first, WARMUP, &[]).map_err(Error::Failed)?;
    let mut length = match slice {
        Some(slice) => SliceLength::set(slice.0),
        None => SliceLength::open(&settings.rates, begun + budget / LENGTH_PART),
    };
    let until = Until { begun, budget, precision };
    let made = Made { file: File::create(out.join(FILE))?, slices: Vec::new(), absent };
    let Some((analysis, made)) = until.rounds(&mut rounds, &settings, &mut length, made, stop, observe)? else {
        return Ok(None);
    };
    notes.extend(rounds.notes().iter().cloned());
    drop(rounds);
    let seconds = clock::since(begun).as_secs_f64();
    let context = report::Context { length: length.result(&made.slices), precision, seconds, notes, env };
    let report = report::made(analysis, &made.absent, context);
    directory.write_json(REPORT, &report)?;
    directory.write("cost.svg", picture(&report)?.as_bytes())?;
    directory.write("report.html", page(&report)?.as_bytes())?;
    Ok(Some(report))
}

/// When rounds end.
struct Until {
    begun: Instant,
    budget: Duration,
    precision: f64,
}

/// The slices so far.
struct Made {
    file: File,
    slices: Vec<CostSlice>,
    /// Targets without a result, and why.
    absent: Vec<(String, String)>,
}

impl Until {
    /// Makes rounds; `None` if there is none that is complete.
    fn rounds(
        &self,
        rounds: &mut Rounds,
        settings: &Settings,
        length: &mut SliceLength,
        mut made: Made,
        stop: &AtomicBool,
        observe: &mut dyn FnMut(&State),
    ) -> Result<Option<(CostAnalysis, Made)>, Error> {
        let mut analysis: Option<CostAnalysis> = None;
        let mut count = 0;
        while !stop.load(Ordering::Relaxed) && !rounds.is_empty() {
            let wide = analysis.as_ref().map_or(Vec::new(), |analysis| analysis.wide_points(self.precision));
            let wanted = wanted(settings, &made.absent, &wide, length);
            let in_all: u32 = wanted.iter().map(|wanted| 1 + u32::from(wanted.twice)).sum();
            // The time may be over in the middle of a round only where there would be no interval without it.
            if count >= LEAST_ROUNDS && clock::since(self.begun) + length.slice * in_all > self.budget {
                break;
            }
            let slices = rounds.round_at_rates(&wanted, length.slice, stop).map_err(Error::Failed)?;
            made.take(slices)?;
            count += 1;
            made.absent.extend(rounds.failures());
            if length.is_too_short(&made.slices, rounds) {
                made.begin_anew()?;
                (analysis, count) = (None, 0);
                continue;
            }
            made.remove_dead(rounds, count);
            let found = analyse(&made.slices, settings);
            let left = self.budget.saturating_sub(clock::since(self.begun));
            let half = found.precision().half;
            let needed = found.needed(self.precision);
            observe(&State::Rounds { made: count, needed, half, slice: length.slice, left });
            let is_enough = found.is_precise(self.precision);
            analysis = Some(found);
            if is_enough {
                break;
            }
        }
        Ok(analysis.map(|analysis| (analysis, made)))
    }
}

/// The slices of a round: one of each point, and another one of those that are `wide`.
fn wanted(
    settings: &Settings,
    absent: &[(String, String)],
    wide: &[(String, f64)],
    length: &SliceLength,
) -> Vec<Wanted> {
    let present = settings.targets.iter().filter(|target| absent.iter().all(|(name, _)| name != *target));
    let points = present.flat_map(|target| settings.rates.iter().map(|rate| (target.clone(), *rate)));
    let once = points.map(|(target, rate)| Wanted { target, rate, twice: length.wants_second(rate) });
    let again = wide.iter().map(|(target, rate)| Wanted { target: target.clone(), rate: *rate, twice: false });
    once.chain(again).collect()
}

impl Made {
    fn take(&mut self, slices: Vec<CostSlice>) -> Result<(), Error> {
        self.file.write_all(&slices.iter().flat_map(CostSlice::line).collect::<Vec<u8>>())?;
        self.slices.extend(slices);
        Ok(())
    }

    /// Drops all slices, which were too short.
    fn begin_anew(&mut self) -> Result<(), Error> {
        self.slices.clear();
        self.file.set_len(0)?;
        Ok(self.file.rewind()?)
    }

    /// Takes out targets that have answered nothing for some rounds.
    fn remove_dead(&mut self, rounds: &mut Rounds, count: usize) {
        if count != DEAD {
            return;
        }
        let mut names: Vec<String> = self.slices.iter().map(|slice| slice.slice.target.clone()).collect();
        names.sort();
        names.dedup();
        for name in names {
            let mut own = self.slices.iter().filter(|slice| slice.slice.target == name);
            if own.all(|slice| slice.slice.replies == 0) {
                rounds.remove(&name);
                self.absent.push((name, "it answers nothing".to_owned()));
            }
        }
    }
}

#[cfg(test)]
mod tests;
