//! When the controller does what: steps, heartbeats, checks, its summary and its end.

use super::bench::{BOUNDS, Bench, ms, plan, window};
use crate::allotment::Allotment;
use crate::controller::coordinator::Action;
use brunt_results::colocation::{Controller, Jobs, Machine};

fn is_apply(action: &Action) -> bool {
    matches!(action, Action::Apply(_))
}

#[test]
fn there_is_a_step_when_counts_come_and_ten_times_a_second_without() {
    let mut bench = Bench::new(&plan("graded", ""));
    for at in [250, 255, 260, 300, 301] {
        bench.counts.push_back((ms(at), window(ms(at), ms(1), 0)));
    }
    bench.run(ms(600));
    let steps: Vec<u128> = bench.steps.iter().map(|step| step.at.as_millis()).collect();
    // Least time between two is 20 ms: what came meanwhile is one window.
    assert_eq!(steps, [0, 100, 200, 250, 270, 300, 320, 420, 520]);
    let counts = |step: usize| bench.steps[step].readings.requests.unwrap().value.count;
    assert_eq!([3, 4, 5, 6].map(counts), [10, 20, 10, 10]);
}

#[test]
fn heartbeats_status_and_checks_have_their_times() {
    let mut bench = Bench::new(&plan("static=1", ""));
    bench.run(ms(7_000));
    let every = |ms: usize| (0..7_000).step_by(ms).collect::<Vec<u64>>();
    assert_eq!(bench.times(|action| *action == Action::Beat), every(100));
    assert_eq!(bench.times(|action| *action == Action::WriteStatus), every(1_000));
    assert_eq!(bench.times(|action| *action == Action::Recapture), every(3_000));
    // Where another program may have changed the limits.
    assert_eq!(bench.times(is_apply), every(3_000));
    assert_eq!(bench.times(|action| matches!(action, Action::Log(_) | Action::Jobs { .. })).len(), 70);

    drop(bench);
    let mut bench = Bench::new(&plan("static=1", ""));
    (1..100).for_each(|n| bench.counts.push_back((ms(20 * n), window(ms(20 * n), ms(20), 0))));
    bench.run(ms(300));
    assert_eq!(bench.times(|action| *action == Action::Beat), [0, 60, 120, 180, 240]);
}

#[test]
fn a_freeze_that_takes_time_is_asked_for_every_20_ms() {
    let mut bench = Bench::new(&plan("graded", ""));
    bench.stopping = ms(50);
    bench.run(ms(3_400));
    let applied = bench.times(is_apply);
    // The check at 3 s, and the freeze of lost counts.
    assert_eq!(applied, [0, 3_000, 3_100, 3_120, 3_140, 3_160]);
    assert_eq!(bench.steps.last().unwrap().at, ms(3_360));
    assert!(bench.group.is_frozen());
}

#[test]
fn figures_begin_after_the_warm_up() {
    let mut bench = Bench::new(&plan("static=1", "warmup = \"1s\""));
    // A second of which 5 % are slow, and two of which the second one is bad.
    bench.feed(ms(0), ms(1_000), 5);
    bench.feed(ms(1_000), ms(2_000), 0);
    bench.feed(ms(2_000), ms(3_000), 2);
    bench.run(ms(3_060));
    assert_eq!(bench.times(|action| *action == Action::BeginFigures), [1_050]);
    let Bench { coordinator, .. } = bench;
    let summary = coordinator.into_tally().summary(Jobs::default(), Machine::default(), Controller::default());
    assert_eq!(summary.seconds, 2.0);
    // Of the windows that end from 1.15 to 2.95 s.
    assert_eq!((summary.service.requests, summary.service.slow), (19_000, 200));
    assert_eq!((summary.service.seconds, summary.service.bad_seconds), (2, 1));
    assert!((summary.allotment.cores - 1.0).abs() < 1e-9 && summary.allotment.changes == 0, "{summary:?}");
}

#[test]
fn figures_that_cannot_begin_are_tried_again() {
    let mut bench = Bench::new(&plan("static=1", "warmup = \"1s\""));
    let base = bench.time.at(ms(0));
    let begins = |bench: &mut Bench, at: u64| {
        bench.coordinator.step(base + ms(at), Default::default()).contains(&Action::BeginFigures)
    };
    assert_eq!([0, 999, 1_000, 1_100].map(|at| begins(&mut bench, at)), [false, false, true, true]);
    bench.coordinator.figures_begun(base + ms(1_100));
    assert!(!begins(&mut bench, 1_200));
}

#[test]
fn actions_are_in_the_order_in_which_they_must_be_done() {
    let mut bench = Bench::new(&plan("graded", "warmup = \"3s\""));
    bench.run(ms(3_001));
    let last = bench.steps.last().unwrap();
    let [Action::Beat, Action::Apply(allotment), Action::Jobs { frozen: false }, Action::Log(record), rest @ ..] =
        &last.actions[..]
    else {
        panic!("{:?}", last.actions)
    };
    assert_eq!(rest, [Action::BeginFigures, Action::WriteStatus, Action::Recapture]);
    assert_eq!((*allotment, record.now, record.decision), (Allotment::cores(BOUNDS.floor), 3.0, last.decision));
}

#[test]
fn at_the_end_jobs_are_followed_under_heartbeats_for_five_seconds_at_most() {
    for idle_at in [0, 31, 60_000] {
        let mut bench = Bench::new(&plan("static=1", ""));
        bench.run(ms(1_030));
        let base = bench.time.at(ms(0));
        let mut closing = bench.coordinator.closing(bench.time.at(ms(1_030)), ms(0));
        let (mut at, mut beats, mut looks) = (ms(1_030), Vec::new(), 0);
        while let Some((actions, again)) = closing.step(base + at, at >= ms(1_030 + idle_at)) {
            assert_eq!(actions.last(), Some(&Action::Jobs { frozen: false }));
            if actions[0] == Action::Beat {
                beats.push(at);
            }
            (at, looks) = (again - base, looks + 1);
        }
        match idle_at {
            0 => assert_eq!((at, looks, beats), (ms(1_030), 0, vec![])),
            31 => assert_eq!((at, looks, beats), (ms(1_062), 16, vec![ms(1_050)])),
            _ => {
                assert_eq!((at, looks), (ms(6_030), 2_500));
                assert!(beats.windows(2).all(|pair| pair[1] - pair[0] == ms(50)) && beats.len() == 100, "{beats:?}");
            }
        }
    }
}
