//! Selection of the rates to try. Pure: no load, no clock.
//!
//! 1. Ascent: one sample a rate, doubled until one breaks the SLO twice.
//! 2. Rounds: one sample of each candidate, the ends of the bracket and rates between them; the bracket narrows to the highest
//!    rate at which the samples of all rounds together hold and the lowest at which they break.
//! 3. Rounds of the last bracket until both ends have been measured as long as a result needs.

use super::bounds::{Bound, Sample};
use super::evidence::{Standing, standing};
use brunt_slices::MOST_VOID;
use serde::Serialize;

/// Range of rates in requests per second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Range {
    pub from: f64,
    pub to: Option<f64>,
    /// Ratio, less 1, of the lowest broken to the highest held rate at which the search ends: 0.05 for 5 %.
    pub precision: f64,
}

/// How much is measured before something is decided.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Effort {
    /// Seconds at a rate before it counts as held or broken.
    pub step_s: f64,
    /// Seconds at the rates of the result.
    pub confirm_s: f64,
    /// Samples at a rate before it counts as held or broken.
    pub samples: usize,
    /// Rates tried between the ends of the bracket at once.
    pub between: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum SearchResult {
    /// The SLO holds up to a rate.
    Holds {
        rate: f64,
        breaks: f64,
    },
    HoldsAtMost {
        rate: f64,
    },
    /// The generator limits the rate.
    GeneratorLimited {
        rate: Option<f64>,
        limited: f64,
    },
    /// It does not hold at any rate tried.
    Never {
        lowest: f64,
    },
    /// The time was over before both ends were certain.
    Undecided {
        rate: Option<f64>,
        breaks: Option<f64>,
    },
}

impl SearchResult {
    /// The highest rate that holds, if the search found it.
    pub fn confirmed(self) -> Option<f64> {
        match self {
            Self::Holds { rate, .. } | Self::HoldsAtMost { rate } => Some(rate),
            Self::GeneratorLimited { .. } | Self::Never { .. } | Self::Undecided { .. } => None,
        }
    }

    /// How closely the limit is known, as the share by which the lowest rate that breaks exceeds the highest that holds.
    pub fn gap(self) -> Option<f64> {
        match self {
            Self::Holds { rate, breaks } => Some(breaks / rate - 1.0),
            _ => None,
        }
    }
}

/// Lowest rate to try, as a share of the first one.
const LOWEST_SHARE: f64 = 1.0 / 16.0;
/// Highest rate to try without a limit: that of the generator.
const HIGHEST: f64 = 1e7;
/// Candidates of a round.
const MOST: usize = 8;

/// The rates of one round; none if the search is over.
pub type Candidates = Vec<f64>;

#[derive(Debug, Clone)]
pub struct Search {
    range: Range,
    effort: Effort,
    bounds: Vec<Bound>,
    ascent: Option<Ascent>,
    /// Rates of the ascent that held there.
    held: Vec<f64>,
    /// Ascending, each with its samples of all rounds.
    rates: Vec<(f64, Vec<Sample>)>,
    rounds: usize,
    void: usize,
}

/// The rate that is next, whether it has broken once, and the highest one that held.
#[derive(Debug, Clone, Copy)]
struct Ascent {
    next: f64,
    once: bool,
    held: Option<f64>,
}

impl Search {
    pub fn new(range: Range, effort: Effort, bounds: Vec<Bound>) -> Self {
        let ascent = Ascent { next: range.from.min(range.to.unwrap_or(HIGHEST)), once: false, held: None };
        Self { range, effort, bounds, ascent: Some(ascent), held: Vec::new(), rates: Vec::new(), rounds: 0, void: 0 }
    }

    /// Whether rates are tried one by one, to find their order of magnitude.
    pub fn is_ascending(&self) -> bool {
        self.ascent.is_some()
    }

    /// Rounds so far, and those of them that the machine has spoilt.
    pub fn rounds(&self) -> (usize, usize) {
        (self.rounds, self.void)
    }

    /// Whether so many rounds are void that they count all the same.
    pub fn too_many_void(&self) -> bool {
        self.void as f64 > MOST_VOID * self.rounds as f64
    }

    /// Records a round of [`Self::next`].
    pub fn tell(&mut self, samples: Vec<Sample>) {
        if let Some(ascent) = self.ascent {
            let violated = samples.iter().any(|sample| sample.violates(&self.bounds));
            self.climb(ascent, violated);
            return;
        }
        self.rounds += 1;
        let is_void = samples.iter().any(|sample| sample.is_void);
        self.void += usize::from(is_void);
        for sample in samples {
            let sample = Sample { is_void, ..sample };
            match self.rates.iter_mut().find(|(rate, _)| *rate == sample.rate) {
                Some((_, of)) => of.push(sample),
                None => self.rates.push((sample.rate, vec![sample])),
            }
        }
        self.rates.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    }

    fn climb(&mut self, Ascent { next, once, held }: Ascent, violated: bool) {
        let top = self.top();
        self.held.extend((!violated).then_some(next));
        self.ascent = match violated {
            false if next < top => Some(Ascent { next: (next * 2.0).min(top), once: false, held: Some(next) }),
            true if !once => Some(Ascent { next, once: true, held }),
            _ => None,
        };
        if self.ascent.is_none() {
            // A rate that broke has the one that held below it.
            self.rates =
                [held.filter(|_| violated), Some(next)].into_iter().flatten().map(|rate| (rate, Vec::new())).collect();
        }
    }

    fn top(&self) -> f64 {
        self.range.to.unwrap_or(HIGHEST)
    }

    fn used<'s>(&self, samples: &'s [Sample]) -> Vec<&'s Sample> {
        let all = self.too_many_void();
        samples.iter().filter(|sample| all || !sample.is_void).collect()
    }

    /// The answer at a rate; `None` while it is too early for one.
    pub fn standing(&self, rate: f64) -> Option<Standing> {
        let used = self.used(&self.rates.iter().find(|(of, _)| *of == rate)?.1);
        let enough = used.len() >= self.effort.samples && self.seconds(rate) >= self.effort.step_s * 0.99;
        enough.then(|| standing(&self.bounds, &used))
    }

    fn seconds(&self, rate: f64) -> f64 {
        let of = self.rates.iter().find(|(of, _)| *of == rate);
        of.map_or(0.0, |(_, samples)| self.used(samples).iter().map(|sample| sample.measured_s).sum())
    }

    /// Whether a rate held that was tried in the ascent and in no round; `None` for another.
    pub fn held_in_ascent(&self, rate: f64) -> Option<bool> {
        let in_rounds = self.rates.iter().any(|(of, samples)| *of == rate && !samples.is_empty());
        (!in_rounds).then(|| self.held.contains(&rate))
    }

    /// Whether a rate was measured as long as a result needs.
    pub fn is_confirmed(&self, rate: f64) -> bool {
        self.seconds(rate) >= self.effort.confirm_s * 0.99
    }

    /// The highest rate that holds and the lowest that breaks. Where a rate breaks below one that holds, neither counts.
    pub fn bracket(&self) -> (Option<f64>, Option<f64>) {
        let of = |wanted: Standing| {
            let rates = self.rates.iter().map(|(rate, _)| *rate);
            rates.filter(move |rate| self.standing(*rate) == Some(wanted))
        };
        let (lowest_broken, highest_held) = (of(Standing::Breaks).next(), of(Standing::Holds).next_back());
        let held = of(Standing::Holds).rfind(|rate| lowest_broken.is_none_or(|broken| *rate < broken));
        let broken = of(Standing::Breaks).find(|rate| highest_held.is_none_or(|held| *rate > held));
        (held, broken)
    }

    /// Whether a rate broke below one that holds.
    pub fn is_contradictory(&self) -> bool {
        let standings: Vec<Standing> = self.rates.iter().filter_map(|(rate, _)| self.standing(*rate)).collect();
        let first_broken = standings.iter().position(|standing| *standing == Standing::Breaks);
        first_broken.is_some_and(|first| standings[first..].contains(&Standing::Holds))
    }

    /// The candidates of the next round.
    pub fn next(&self) -> Candidates {
        if let Some(ascent) = self.ascent {
            return vec![ascent.next];
        }
        let (low, high) = self.bracket();
        let within = |rate: &f64| low.is_none_or(|low| *rate >= low) && high.is_none_or(|high| *rate <= high);
        let mut active: Vec<f64> = self.rates.iter().map(|(rate, _)| *rate).filter(within).collect();
        if active.iter().any(|rate| self.standing(*rate).is_none()) {
            return self.at_most(active);
        }
        match (low, high) {
            (None, _) => self.below(&mut active),
            (Some(low), None) => {
                let last = active.last().copied().unwrap_or(low);
                if last < self.top() {
                    active.push(tidy(last * if last == low { 2.0 } else { 1.25 }).min(self.top()));
                } else if last == low && self.is_confirmed(low) {
                    return Vec::new();
                }
            }
            (Some(low), Some(high)) => {
                let added = self.between(&active);
                let is_narrow = high <= low * (1.0 + self.range.precision) || added.is_empty() && active.len() == 2;
                let is_confirmed = [low, high].into_iter().all(|rate| self.is_confirmed(rate));
                match is_narrow {
                    true if is_confirmed => return Vec::new(),
                    true => active.retain(|rate| *rate == low || *rate == high),
                    false => active.extend(added),
                }
            }
        }
        self.at_most(active)
    }

    /// Nothing holds yet: tries lower rates, down to the lowest.
    fn below(&self, active: &mut Vec<f64>) {
        let Some(lowest) = active.first().copied() else { return };
        let breaks = self.standing(lowest) == Some(Standing::Breaks);
        let lower = tidy(lowest / if breaks { 2.0 } else { 1.25 });
        if lower >= self.lowest() {
            active.insert(0, lower);
        } else if breaks {
            active.clear();
        }
    }

    /// Rates to try between those of the bracket, which are certain or have been tried.
    fn between(&self, active: &[f64]) -> Vec<f64> {
        let (Some(low), Some(high)) = (active.first(), active.last()) else { return Vec::new() };
        // A rate at the knee itself stays unclear: nearer ones on both sides of it answer.
        let (wanted, part) = if active.len() == 2 { (self.effort.between, 2.0) } else { (1, 4.0) };
        let finest = 1.0 + self.range.precision / part;
        let gaps = active.windows(2).flat_map(|gap| {
            let ratio = gap[1] / gap[0];
            let fitting = ((ratio.ln() / finest.ln()) + 1e-9).floor() as usize;
            let count = wanted.min(fitting.saturating_sub(1));
            (1..=count).map(move |number| tidy(gap[0] * ratio.powf(number as f64 / (count + 1) as f64)))
        });
        let mut added: Vec<f64> = gaps.filter(|rate| rate > low && rate < high && !active.contains(rate)).collect();
        added.dedup();
        added.truncate(MOST.saturating_sub(active.len()));
        added
    }

    /// At most [`MOST`] of these rates: the ends, and of the others those with the least samples.
    fn at_most(&self, mut rates: Vec<f64>) -> Candidates {
        rates.sort_by(f64::total_cmp);
        while rates.len() > MOST {
            let inner = 1..rates.len() - 1;
            let most = inner.max_by(|a, b| self.seconds(rates[*a]).total_cmp(&self.seconds(rates[*b])));
            rates.remove(most.unwrap_or(0));
        }
        rates
    }

    fn lowest(&self) -> f64 {
        self.range.from * LOWEST_SHARE
    }

    /// What is known so far.
    pub fn end(&self) -> SearchResult {
        match self.bracket() {
            (Some(rate), Some(breaks)) => SearchResult::Holds { rate, breaks },
            (Some(rate), None) if rate >= self.top() => SearchResult::HoldsAtMost { rate },
            (None, Some(lowest)) if tidy(lowest / 2.0) < self.lowest() => SearchResult::Never { lowest },
            (rate, breaks) => SearchResult::Undecided { rate, breaks },
        }
    }

    /// Measured seconds until the end of the search, if each rate has an answer as soon as it may have one; `None` while
    /// the ends of the result are not known.
    pub fn needed_s(&self) -> Option<f64> {
        let (low, high) = match self.bracket() {
            (Some(low), Some(high)) => (low, high),
            (Some(low), None) if low >= self.top() => {
                return Some((self.effort.confirm_s - self.seconds(low)).max(0.0));
            }
            _ => return None,
        };
        let Effort { step_s, confirm_s, samples, between } = self.effort;
        let sampled: Vec<f64> = self.rates.iter().flat_map(|(_, of)| of).map(|sample| sample.measured_s).collect();
        let sample_s = sampled.iter().sum::<f64>() / sampled.len().max(1) as f64;
        let each_s = step_s.max(samples as f64 * sample_s);
        let candidates = self.next();
        let missing = |rate: &f64| self.standing(*rate).is_none().then(|| (each_s - self.seconds(*rate)).max(sample_s));
        let missing: Vec<f64> = candidates.iter().filter_map(missing).collect();
        let mut needed_s = candidates.len() as f64 * missing.iter().copied().fold(0.0, f64::max);
        let mut gap = (high / low - 1.0) / (missing.len() + 1) as f64;
        let mut ends_s = if missing.is_empty() { self.seconds(low).min(self.seconds(high)) } else { each_s };
        while gap > self.range.precision {
            needed_s += each_s * (between + 2) as f64;
            (gap, ends_s) = (gap / (between + 1) as f64, each_s);
        }
        Some(needed_s + 2.0 * (confirm_s - ends_s).max(0.0))
    }

    /// Whether the ends are as near as asked for and measured as long.
    pub fn is_precise(&self) -> bool {
        self.ascent.is_none() && self.next().is_empty()
    }
}

/// Rounds to three significant digits.
fn tidy(rate: f64) -> f64 {
    let unit = 10f64.powf(rate.log10().floor() - 2.0);
    let tidy = (rate / unit).round() * unit;
    // Removes rounding errors of the division.
    format!("{tidy:.6}").parse().unwrap_or(tidy)
}

#[cfg(test)]
mod tests;
