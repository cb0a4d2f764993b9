use super::super::bounds::Part;
use super::*;
use proptest::prelude::*;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

const RANGE: Range = Range { from: 1000.0, to: None, precision: 0.05 };
const EFFORT: Effort = Effort { step_s: 1.0, confirm_s: 3.0, samples: 5, between: 3 };
const SHARE: Bound = Bound { limit: 0.01, in_one: 0.01, slack: 0.0, is_rare: false };

/// A slice of 0.2 s with this share of late requests.
fn sample(rate: f64, late: f64) -> Sample {
    Sample { rate, measured_s: 0.2, is_void: false, parts: vec![Part { over: late * 200.0, of: 200.0 }] }
}

/// Runs a search for at most `rounds` rounds; `late` gives the shares of late requests of a round.
fn search(range: Range, rounds: usize, mut late: impl FnMut(&[f64]) -> Vec<f64>) -> (SearchResult, usize, bool) {
    let mut search = Search::new(range, EFFORT, vec![SHARE]);
    let mut slices = 0;
    for _ in 0..rounds {
        let rates = search.next();
        if rates.is_empty() {
            break;
        }
        assert!(rates.len() <= MOST && rates.is_sorted() && !search.is_ascending() | (rates.len() == 1), "{rates:?}");
        let least = range.from / 16.01;
        assert!(rates.iter().all(|rate| *rate >= least && *rate <= range.to.unwrap_or(HIGHEST)), "{rates:?}");
        slices += rates.len();
        let late = late(&rates);
        search.tell(rates.iter().zip(late).map(|(rate, late)| sample(*rate, late)).collect());
    }
    (search.end(), slices, search.is_precise())
}

fn random(state: &mut Xoshiro256PlusPlus) -> f64 {
    (state.next_u64() >> 11) as f64 / (1u64 << 53) as f64
}

/// Share of late requests of a service that carries `capacity` requests a second.
fn overload(rate: f64, capacity: f64) -> f64 {
    if rate > capacity { (0.05 + 5.0 * (rate / capacity - 1.0)).min(1.0) } else { 0.0 }
}

#[test]
fn what_always_or_never_holds_ends_the_search() {
    let capped = Range { to: Some(5000.0), ..RANGE };
    let (end, slices, precise) = search(capped, 100, |rates| vec![0.0; rates.len()]);
    assert_eq!((end, precise), (SearchResult::HoldsAtMost { rate: 5000.0 }, true));
    assert_eq!(slices, 4 + 15, "four of the ascent, 3 s at the highest rate");
    let (end, slices, _) = search(RANGE, 100, |rates| vec![1.0; rates.len()]);
    assert_eq!(end, SearchResult::Never { lowest: 62.5 });
    assert!(slices <= 2 + 5 * 15, "{slices}");
}

#[test]
fn the_time_that_is_needed_is_known_once_both_ends_are() {
    for range in [RANGE, Range { to: Some(5000.0), ..RANGE }, Range { precision: 0.01, ..RANGE }] {
        let mut search = Search::new(range, EFFORT, vec![SHARE]);
        let (mut made_s, mut said) = (0.0, Vec::new());
        loop {
            let rates = search.next();
            said.extend(search.needed_s().map(|needed_s| (made_s, needed_s)));
            if rates.is_empty() {
                break;
            }
            made_s += 0.2 * rates.len() as f64;
            search.tell(rates.iter().map(|rate| sample(*rate, overload(*rate, 9e3))).collect());
        }
        assert!(said.len() > 10 && said.last().is_some_and(|(_, needed_s)| *needed_s < 0.01), "{said:?}");
        let off = |(at_s, needed_s): &(f64, f64)| (made_s - at_s - needed_s).abs();
        assert!(said.iter().all(|said| off(said) <= 0.4 * (made_s - said.0) + 3.0), "{range:?}, {made_s} s: {said:?}");
    }
}

#[test]
fn time_that_is_over_too_early_leaves_it_undecided() {
    let late = |rates: &[f64]| rates.iter().map(|rate| overload(*rate, 9e3)).collect();
    assert_eq!(search(RANGE, 3, late).0, SearchResult::Undecided { rate: None, breaks: None });
    // The share of late requests varies around what is allowed.
    let mut turn = 0;
    let unclear = |rates: &[f64]| {
        turn += 1;
        rates.iter().map(|_| if turn % 2 == 0 { 0.0 } else { 0.02 }).collect()
    };
    let (end, _, precise) = search(Range { to: Some(2000.0), ..RANGE }, 200, unclear);
    assert!(matches!(end, SearchResult::Undecided { .. }) && !precise, "{end:?}");
}

#[test]
fn void_rounds_do_not_count_unless_they_are_many() {
    for every in [2, 6] {
        let mut search = Search::new(RANGE, EFFORT, vec![SHARE]);
        for round in 0..400 {
            let rates = search.next();
            // Void rounds break at every rate.
            let is_void = !search.is_ascending() && round % every == 0;
            let late = |rate: f64| if is_void { 1.0 } else { overload(rate, 9e3) };
            search.tell(rates.iter().map(|rate| Sample { is_void, ..sample(*rate, late(*rate)) }).collect());
            if search.is_precise() {
                break;
            }
        }
        assert_eq!(search.too_many_void(), every == 2, "{:?}", search.rounds());
        match search.end() {
            SearchResult::Holds { rate, breaks } => assert!(rate <= 9e3 && breaks > 9e3 && every == 6),
            end => assert!(every == 2, "{end:?}"),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_knee_is_found_within_the_precision(knee in 70f64..5e6, from in 100f64..1e3, precision in 0.01f64..0.2) {
        let range = Range { from, to: None, precision };
        let (end, slices, precise) =
            search(range, 1000, |rates| rates.iter().map(|rate| overload(*rate, knee)).collect());
        match end {
            SearchResult::Holds { rate, breaks } => {
                prop_assert!(rate <= knee && knee < breaks && precise);
                // Rounding to three digits costs at most half a percent on either side.
                prop_assert!(breaks / rate <= 1.0 + precision + 0.012, "{rate} {breaks}");
            }
            SearchResult::Never { lowest } => prop_assert!(knee < lowest && lowest < from / 7.0),
            other => prop_assert!(false, "{other:?}"),
        }
        // At 0.25 s each, with the lead: at most 75 s.
        prop_assert!(slices < 300, "{slices}");
    }

    /// The service has spells of 70 to 100 % of its speed, which last for several rounds, and single slices are hit by stalls.
    #[test]
    fn slow_spells_and_stalls_do_not_hide_the_knee(seed: u64, knee in 2e3f64..1e5) {
        let mut state = Xoshiro256PlusPlus::seed_from_u64(seed);
        let (mut turn, mut speed) = (0, 1.0);
        let (end, ..) = search(RANGE, 400, |rates| {
            turn += 1;
            if turn % 7 == 0 {
                speed = if random(&mut state) < 0.2 { 0.97 } else { 1.0 };
            }
            let stalled = |state: &mut Xoshiro256PlusPlus| if random(state) < 0.05 { 0.04 } else { 0.0 };
            rates.iter().map(|rate| overload(*rate, knee * speed) + stalled(&mut state)).collect()
        });
        match end {
            SearchResult::Holds { rate, breaks } => {
                prop_assert!(rate <= knee * 1.001 && rate >= knee * 0.8, "{rate} {knee}");
                prop_assert!(breaks >= knee * 0.96 && breaks <= knee * 1.3, "{breaks} {knee}");
            }
            end => prop_assert!(false, "{end:?}"),
        }
    }

    #[test]
    fn no_service_makes_it_try_what_was_not_asked_for(answers in proptest::collection::vec(0f64..0.03, 900), from in 1f64..1e4) {
        let mut answers = answers.into_iter().cycle();
        let range = Range { from, to: Some(from * 1000.0), precision: 0.02 };
        search(range, 60, |rates| rates.iter().map(|_| answers.next().unwrap_or_default()).collect());
    }
}
