//! Targets compared by slices: servers of known service times have the ratio that follows from them.

use crate::lab::{Lab, beside};
use crate::worlds::{MS, SECOND, Serve, US, exact, options, times};
use brunt_lab::slices::SliceSpec;
use brunt_lab::slices::participant::Participant;
use brunt_lab::slices::rounds::Rounds;
use brunt_lab::slices::session::{End, session};
use brunt_load::{Options, Target};
use brunt_results::LatencySummary;
use brunt_results::comparison::Verdict;
use brunt_results::figure::{MEAN, P50, P99, RATE};
use brunt_slices::{LoadComparison, Progress, Settings, Slice, SlicedLoad, compare};
use std::sync::atomic::AtomicBool;
use std::{convert::identity, net::SocketAddr, rc::Rc, time::Duration};

const NAMES: [&str; 2] = ["one", "other"];

fn address(number: u16) -> SocketAddr {
    ([127, 0, 0, 1], 7000 + number).into()
}

/// A comparison, its slices, and of each slice its target, what was ordered, and when.
struct Made {
    comparison: LoadComparison,
    slices: Vec<Slice>,
    orders: Vec<(usize, SliceSpec, Duration)>,
}

/// Compares two echo servers that take so long for a request on each of two connections, way included; at most 20 s of rounds.
fn compared(each: [Duration; 2], pauses: &[(Duration, Duration)]) -> Made {
    let server = |(number, each): (u16, Duration)| {
        // A sleep takes a turn more, and a way 22 us.
        let work = format!("sleep={}us", (each - 23 * US).as_micros());
        let Serve::Tcp(server) = Serve::echo(&work, 1) else { unreachable!() };
        Serve::Tcp(brunt_serve::Options { listen: vec![address(number).into()], ..server })
    };
    let load = |number| {
        let target = Target::Echo { address: address(number).into(), size: 64, reuse: None };
        Options { connections: 2, ..options(target) }
    };
    let servers = (0..).zip(each).map(server).collect();
    beside(&exact(), servers, &[load(0), load(1)], pauses, rounds)
}

fn rounds(lab: &Rc<Lab>) -> Made {
    let participant = |(load, name): (usize, &str)| Participant {
        name: name.to_owned(),
        loader: Box::new(lab.open(load).unwrap()),
        process: None,
        server: None,
        freezable: None,
    };
    let participants = NAMES.into_iter().enumerate().map(participant).collect();
    let mut rounds = Rounds::begin(participants, 1, 1, 100 * MS, 500 * MS, &[]).unwrap();
    let (mut slices, stop) = (Vec::new(), AtomicBool::new(false));
    let ended = session(&mut rounds, &stop, identity, |_, round, made| {
        slices.extend(round);
        let progress = Progress::of(&slices, NAMES[0], 0.015, false);
        Ok(progress.is_enough() || made.time >= 20 * SECOND)
    });
    assert_eq!(ended, Ok(End::Enough));
    let load = SlicedLoad { slices, ..SlicedLoad::default() };
    let settings = Settings { margin: 0.03, precision: 0.015 };
    let comparison = compare(std::slice::from_ref(&load), &NAMES.map(str::to_owned), NAMES[0], settings).remove(0);
    Made { comparison, slices: load.slices, orders: lab.made.take() }
}

/// Replies to two connections between lead and end of a slice.
fn replies(each: Duration, spec: SliceSpec) -> u64 {
    let ends_by = |at: Duration| 2 * ((at.as_nanos() - 1) / each.as_nanos()) as u64;
    ends_by(spec.lead + spec.window) - ends_by(spec.lead)
}

/// What the mean of so long response times is, to the resolution of histograms.
fn mean(each: Duration) -> f64 {
    LatencySummary::of(&times(1, each)).mean_us.unwrap()
}

#[test]
fn a_server_half_as_slow_again_has_two_thirds_of_the_rate() {
    let each = [100 * US, 150 * US];
    let Made { comparison, slices, orders } = compared(each, &[]);
    // Enough at the first look.
    assert_eq!((comparison.rounds, comparison.void, slices.len(), orders.len()), (20, 0, 40, 42));
    for (slice, (target, spec, _)) in slices.iter().zip(&orders[2..]) {
        assert_eq!((&*slice.target, slice.window_us), (NAMES[*target], spec.window.as_micros() as u64));
        // The last ones may end just outside.
        let expected = replies(each[*target], *spec);
        assert!(slice.completed.abs_diff(expected) <= 2, "{} of {expected}", slice.completed);
        assert_eq!((slice.failed, slice.unanswered), (0, 2));
        // The end of the lead, which is no whole microsecond, takes a turn from one of them.
        let later = slice.latency.mean_us.unwrap() - mean(each[*target]);
        assert!((0.0..=4.0).contains(&(later * slice.completed as f64).round()), "{later}");
        assert_eq!(slice.lost_us, 0.0);
    }
    let other = &comparison.targets[1];
    let rate = other.ratio(&RATE).unwrap();
    // A window has a request more or less of thousands.
    let of = |round: &[Slice], name: &str| round.iter().find(|slice| slice.target == name).unwrap().rate();
    let ratios = slices.chunks(2).map(|round| of(round, "other") / of(round, "one"));
    let (low, high) = ratios.fold((f64::MAX, 0.0_f64), |(low, high), ratio| (low.min(ratio), high.max(ratio)));
    assert!(low <= rate.low && rate.high <= high && low > 0.664 && high < 0.669, "{rate:?}");
    assert_eq!((rate.verdict.clone(), rate.samples), (Verdict::Different, 20));
    let times = other.ratio(&MEAN).unwrap();
    // To the resolution of histograms, in every round.
    assert!(times.low == times.high && (times.ratio - 1.5).abs() < 1e-5, "{times:?}");
    assert_eq!(times.verdict, Verdict::Different);
}

#[test]
fn equal_servers_have_a_ratio_of_exactly_one() {
    let Made { comparison, .. } = compared([100 * US; 2], &[]);
    for figure in [&RATE, &MEAN, &P50, &P99] {
        let ratio = comparison.targets[1].ratio(figure).unwrap();
        assert_eq!([ratio.low, ratio.ratio, ratio.high], [1.0; 3], "{figure:?}");
        assert_eq!(ratio.verdict, Verdict::NoDifference);
    }
    assert_eq!((comparison.rounds, comparison.alarms.len()), (20, 0));
}

#[test]
fn a_pause_of_the_host_counts_if_it_is_short_and_spoils_its_round_if_it_is_long() {
    let each = [100 * US, 150 * US];
    let quiet = compared(each, &[]);
    // 30 ms into the seventh slice.
    let (target, spec, at) = quiet.orders[2 + 6];
    for (length, voids) in [(5 * MS, 0), (40 * MS, 1)] {
        let Made { comparison, slices, orders } = compared(each, &[(at + 30 * MS, length)]);
        assert_eq!(orders[..9], quiet.orders[..9], "what follows is later");
        let paused = &slices[6];
        assert_eq!((paused.lost_us, paused.is_void()), (length.as_secs_f64() * 1e6, voids == 1));
        assert_eq!(slices.iter().filter(|slice| slice.lost_us > 0.0).count(), 1);
        let missing = replies(each[target], spec) - paused.completed;
        let fit = 2 * (length.as_nanos() / each[target].as_nanos()) as u64;
        assert!((fit - 2..=fit + 2).contains(&missing), "{missing} of {fit}");
        // A round that does not count is replaced.
        assert_eq!((comparison.rounds, comparison.void, slices.len()), (20, voids, 2 * (20 + voids)));
        let [found, expected] = [&comparison, &quiet.comparison].map(|one| one.targets[1].ratio(&RATE).unwrap());
        assert!((found.ratio / expected.ratio - 1.0).abs() < 1e-3 && found.verdict == Verdict::Different, "{found:?}");
    }
}

#[test]
fn a_host_that_pauses_all_the_time_gives_no_answer() {
    // 20 ms of each 100.
    let pauses: Vec<(Duration, Duration)> = (0..300).map(|number| (number * 100 * MS, 20 * MS)).collect();
    let Made { comparison, slices, .. } = compared([100 * US, 150 * US], &pauses);
    assert_eq!((comparison.rounds, 2 * comparison.void), (0, slices.len()));
    assert!(comparison.targets[1].ratios.is_empty());
    // Rounds of 2 (100 + 10) ms, in 20 s.
    assert_eq!(comparison.void, 91);
}
