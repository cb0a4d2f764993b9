//! Selection of the rates to try. Pure: no load, no clock.
//!
//! Doubles the rate until one breaks the SLO, bisects the gap geometrically down to the precision, then confirms the
//! highest rate that held with a long attempt, stepping down until one is confirmed. A rate counts as broken after it
//! broke twice, so that a single disturbance does not decide. The confirmation guards against a rate that held by
//! chance.

use serde::Serialize;

/// Range of rates in requests per second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Range {
    pub from: f64,
    pub to: Option<f64>,
    /// Ratio, less 1, of the lowest broken to the highest held rate at which bisection ends: 0.05 for 5 %.
    pub precision: f64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Attempt {
    pub rate: f64,
    /// Whether it is a long, confirming attempt.
    pub confirms: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SloOutcome {
    Holds,
    Breaks,
    /// The SLO is violated, possibly because of the load generator.
    GeneratorLimited,
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
}

impl SearchResult {
    /// The highest rate that holds, if the search found it and a long attempt confirmed it.
    pub fn confirmed(self) -> Option<f64> {
        match self {
            Self::Holds { rate, .. } | Self::HoldsAtMost { rate } => Some(rate),
            Self::GeneratorLimited { .. } | Self::Never { .. } => None,
        }
    }
}

/// Lowest rate to try, as a share of the first one.
const LOWEST_SHARE: f64 = 1.0 / 16.0;
/// Highest rate to try without a limit.
const HIGHEST: f64 = 1e9;

#[derive(Debug, Clone)]
pub struct Search {
    range: Range,
    /// Ascending.
    held: Vec<f64>,
    /// Lowest broken rate and its outcome.
    broken: Option<(f64, SloOutcome)>,
    /// The current attempt, if it has broken once.
    once: Option<Attempt>,
    unconfirmed: u32,
    confirmed: Option<f64>,
}

impl Search {
    pub fn new(range: Range) -> Self {
        Self { range, held: Vec::new(), broken: None, once: None, unconfirmed: 0, confirmed: None }
    }

    /// The next attempt, or the result.
    pub fn next(&self) -> Result<Attempt, SearchResult> {
        if let Some(again) = self.once {
            return Ok(again);
        }
        let attempt = |rate| Ok(Attempt { rate, confirms: false });
        let top = self.range.to.unwrap_or(HIGHEST);
        match (self.held.last().copied(), self.broken) {
            (held, _) if self.confirmed.is_some() && self.confirmed == held => Err(self.end()),
            (None, None) => attempt(self.range.from.min(top)),
            (Some(held), None) if held < top => attempt((held * 2.0).min(top)),
            (Some(held), None) => Ok(Attempt { rate: held, confirms: true }),
            (None, Some((broken, _))) => {
                let lower = tidy(broken / 2.0);
                if lower < self.lowest() { Err(self.end()) } else { attempt(lower) }
            }
            (Some(held), Some((broken, _))) => {
                let middle = tidy((held * broken).sqrt());
                // After a failed confirmation the remaining gap is below the precision.
                let is_narrow = broken <= held * (1.0 + self.range.precision) || self.unconfirmed > 0;
                if is_narrow || middle <= held || middle >= broken {
                    return Ok(Attempt { rate: held, confirms: true });
                }
                attempt(middle)
            }
        }
    }

    /// Records the outcome of the attempt that [`Self::next`] returned.
    pub fn tell(&mut self, answer: SloOutcome) {
        let Ok(under_way) = self.next() else { return };
        let Attempt { rate, confirms } = under_way;
        match (answer, self.once.take()) {
            (SloOutcome::Holds, _) if confirms => self.confirmed = Some(rate),
            (SloOutcome::Holds, _) => self.held.push(rate),
            (_, None) => {
                self.once = Some(under_way);
                return;
            }
            (answer, Some(_)) => self.breaks(rate, confirms, answer),
        }
        self.held.sort_by(f64::total_cmp);
    }

    fn breaks(&mut self, rate: f64, confirms: bool, answer: SloOutcome) {
        self.broken = Some((rate, answer));
        self.held.retain(|held| *held < rate);
        if confirms {
            self.unconfirmed += 1;
            // Steps down by a doubling distance: the next held rate may be far below.
            let step = self.range.precision * f64::from(1u32 << (self.unconfirmed.min(20) - 1));
            let lower = tidy(rate / (1.0 + step));
            if lower >= self.lowest() && self.held.last().is_none_or(|held| *held < lower) {
                self.held.push(lower);
            }
        }
    }

    fn lowest(&self) -> f64 {
        self.range.from * LOWEST_SHARE
    }

    fn end(&self) -> SearchResult {
        match (self.confirmed, self.broken) {
            (Some(rate), Some((breaks, SloOutcome::Breaks))) => SearchResult::Holds { rate, breaks },
            (Some(rate), None) => SearchResult::HoldsAtMost { rate },
            (rate, Some((limited, SloOutcome::GeneratorLimited))) => SearchResult::GeneratorLimited { rate, limited },
            (None, Some((lowest, _))) => SearchResult::Never { lowest },
            (_, broken) => SearchResult::Never { lowest: broken.map_or(self.range.from, |(rate, _)| rate) },
        }
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
mod tests {
    use super::*;
    use proptest::prelude::*;

    const RANGE: Range = Range { from: 1000.0, to: None, precision: 0.05 };

    /// Runs a search against a modelled service; returns all attempts.
    fn search(range: Range, mut service: impl FnMut(Attempt) -> SloOutcome) -> (SearchResult, Vec<Attempt>) {
        let mut search = Search::new(range);
        let mut tries = Vec::new();
        while let Ok(next) = search.next() {
            tries.push(next);
            assert!(tries.len() < 500, "the search does not end: {tries:?}");
            search.tell(service(next));
        }
        (search.next().unwrap_err(), tries)
    }

    fn holds_if(holds: bool) -> SloOutcome {
        if holds { SloOutcome::Holds } else { SloOutcome::Breaks }
    }

    #[test]
    fn what_always_or_never_holds_ends_the_search() {
        let capped = Range { to: Some(5000.0), ..RANGE };
        let (end, tries) = search(capped, |_| SloOutcome::Holds);
        assert_eq!(end, SearchResult::HoldsAtMost { rate: 5000.0 });
        assert!(tries.last().unwrap().confirms && tries.len() == 5, "{tries:?}");
        let (end, tries) = search(RANGE, |_| SloOutcome::Breaks);
        assert_eq!(end, SearchResult::Never { lowest: 62.5 });
        assert_eq!(tries.len(), 10, "each of five rates twice: {tries:?}");
    }

    #[test]
    fn a_generator_that_is_the_limit_is_not_the_services_fault() {
        let service = |t: Attempt| if t.rate <= 5000.0 { SloOutcome::Holds } else { SloOutcome::GeneratorLimited };
        let (end, _) = search(RANGE, service);
        let SearchResult::GeneratorLimited { rate: Some(rate), limited } = end else { panic!("{end:?}") };
        assert!(rate <= 5000.0 && limited > 5000.0 && limited / rate <= 1.06, "{end:?}");
        let (end, _) = search(RANGE, |_| SloOutcome::GeneratorLimited);
        assert_eq!(end, SearchResult::GeneratorLimited { rate: None, limited: 62.5 });
    }

    #[test]
    fn what_only_short_tries_hold_is_not_confirmed() {
        // Short attempts hold up to 8,000, long ones up to 5,000.
        let (end, tries) = search(RANGE, |t| holds_if(t.rate <= if t.confirms { 5000.0 } else { 8000.0 }));
        let SearchResult::Holds { rate, breaks } = end else { panic!("{end:?}") };
        assert!(rate <= 5000.0 && rate > 3500.0 && breaks > 5000.0, "{end:?} {tries:?}");
        assert!(tries.len() < 30, "{tries:?}");
    }

    #[test]
    fn one_bad_moment_does_not_decide() {
        let mut bad = false;
        let (end, _) = search(RANGE, |t| {
            // Every other attempt at a good rate breaks.
            bad = !bad && t.rate <= 10_000.0;
            holds_if(t.rate <= 10_000.0 && !bad)
        });
        let SearchResult::Holds { rate, .. } = end else { panic!("{end:?}") };
        assert!(rate > 9_500.0 && rate <= 10_000.0, "{end:?}");
    }

    proptest! {
        #[test]
        fn a_knee_is_found_within_the_precision(knee in 63f64..5e6, from in 100f64..1e4, precision in 0.01f64..0.2) {
            let range = Range { from, to: None, precision };
            let (end, tries) = search(range, |t| holds_if(t.rate <= knee));
            match end {
                SearchResult::Holds { rate, breaks } => {
                    prop_assert!(rate <= knee && knee < breaks);
                    // Rounding to three digits costs at most half a percent on either side.
                    prop_assert!(breaks / rate <= 1.0 + precision + 0.012, "{rate} {breaks}");
                }
                SearchResult::Never { lowest } => prop_assert!(knee < lowest && lowest < from / 7.0),
                other => prop_assert!(false, "{other:?}"),
            }
            prop_assert!(tries.len() < 70, "{}", tries.len());
        }

        #[test]
        fn a_noisy_knee_is_found_near_it(seed: u64, knee in 2e3f64..1e5) {
            // Within 5 % of the knee the outcome is random.
            let mut state = seed | 1;
            let mut chance = || {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (state >> 33) as f64 / (1u64 << 31) as f64
            };
            let (end, tries) = search(RANGE, |t| holds_if(t.rate <= knee * (0.95 + 0.1 * chance())));
            let SearchResult::Holds { rate, breaks } = end else { return Err(TestCaseError::fail(format!("{end:?}"))) };
            prop_assert!(rate <= knee * 1.05 && breaks >= knee * 0.95, "{rate} {breaks} {knee}");
            prop_assert!(rate >= knee * 0.75, "{rate} {knee}");
            prop_assert!(tries.len() < 60);
        }

        #[test]
        fn no_service_keeps_it_searching(answers in proptest::collection::vec(0u8..3, 600), from in 1f64..1e6) {
            let mut answers = answers.into_iter();
            let range = Range { from, to: Some(from * 1000.0), precision: 0.02 };
            let (_, tries) = search(range, |_| match answers.next() {
                Some(0) => SloOutcome::Holds,
                Some(1) => SloOutcome::GeneratorLimited,
                _ => SloOutcome::Breaks,
            });
            prop_assert!(tries.iter().all(|t| t.rate <= range.to.unwrap() && t.rate >= from / 17.0));
        }

        #[test]
        fn rates_are_tidy(rate in 1f64..1e9) {
            let tidied = tidy(rate);
            prop_assert!((tidied / rate - 1.0).abs() <= 0.0051);
            let shown = format!("{tidied:.2e}");
            prop_assert!((shown.parse::<f64>().unwrap() / tidied - 1.0).abs() < 1e-9, "{tidied}");
        }
    }
}
