//! What trouble costs the jobs that is not their doing: deployments, bursts of load, silences of the source.

use super::*;
use crate::policy::choice::Choice;
use crate::simulator::{Load, Trouble, Turns, preset};

const HOUR: f64 = 3600.0;

fn server(load: Load, seconds: u64, knows_load: bool, trouble: Trouble) -> Scenario {
    let scenario = tests::server(Job::CPU, load, seconds, Choice::Graded);
    Scenario { missing: 0.001, knows_load, trouble, seed: 11, ..scenario }
}

/// Whether the load is known, and whether a service that is down refuses requests.
const KINDS: [(bool, bool); 4] = [(true, true), (true, false), (false, true), (false, false)];

/// Seconds after `from` until jobs have 90 % of the cores that they had before, for good.
fn back_after(outcome: &Outcome, from: usize) -> usize {
    let before = outcome.series[from - 1].cores;
    let is_back = |second: &Second| second.cores >= 0.9 * before;
    outcome.series[from..].iter().rposition(|second| !is_back(second)).map_or(0, |last| last + 1)
}

#[test]
fn jobs_are_back_soon_after_a_restart_and_after_a_burst() {
    for (knows_load, refuses) in KINDS {
        for seed in 0..20 {
            let trouble = Trouble { deploys: 240.0, refuses, ..Trouble::default() };
            let scenario = Scenario { seed, ..server(Load::Constant(0.4), 200, knows_load, trouble) };
            let outcome = simulate(&scenario, |_| {});
            let back = back_after(&outcome, 120);
            assert!(back <= 20, "restart: load known {knows_load}, refuses {refuses}, seed {seed}: {back} s");
            let trouble = Trouble { bursts: 240.0, refuses, ..Trouble::default() };
            let outcome = simulate(&Scenario { trouble, ..scenario }, |_| {});
            let back = back_after(&outcome, 120);
            assert!(back <= 5 + 60, "burst: load known {knows_load}, seed {seed}: {back} s");
        }
    }
}

/// Stalls of the service itself, one in five seconds, each of which makes a second bad: jobs keep most of what they have without them,
/// and are not frozen.
#[test]
fn stalls_without_a_signal_are_no_emergency() {
    for (knows_load, load) in [(true, 0.4), (false, 0.4), (true, 0.1), (false, 0.1)] {
        for seed in 0..4 {
            let of = |stalls: f64| {
                let trouble = Trouble { stalls, ..Trouble::default() };
                simulate(&Scenario { seed, ..server(Load::Constant(load), 600, knows_load, trouble) }, |_| {})
            };
            let (calm, stalled) = (of(0.0), of(5.0));
            let told = format!("load {load}, known {knows_load}, seed {seed}: frozen {} s", stalled.frozen_seconds);
            assert!(stalled.bad_seconds > 60, "{told}: {} bad seconds", stalled.bad_seconds);
            assert!(stalled.frozen_seconds <= 60.0, "{told}");
            assert!(stalled.be_rate >= 0.5 * calm.be_rate, "{told}: {} of {}", stalled.be_rate, calm.be_rate);
        }
    }
}

/// A deployment every five hours, a burst every two, a silence every twelve, over eight days in all.
#[test]
fn trouble_costs_the_jobs_a_hundredth_of_their_work() {
    const TIME: u64 = 6 * 3600;
    const SEEDS: u64 = 2;
    let lost = |(knows_load, refuses): (bool, bool)| {
        let trouble = Trouble { deploys: 5.0 * HOUR, bursts: 2.0 * HOUR, silences: 12.0 * HOUR, stalls: 0.0, refuses };
        let of = |(job, seed): (Job, u64)| {
            let load = Load::Steps { low: 0.2, high: 0.8, period: 900.0 };
            let scenario = Scenario { job, seed, ..server(load, TIME, knows_load, trouble) };
            let quiet = simulate(&Scenario { trouble: Trouble::default(), ..scenario }, |_| {});
            1.0 - simulate(&scenario, |_| {}).be_rate / quiet.be_rate
        };
        let all: Vec<f64> = (0..SEEDS).flat_map(|seed| [(Job::CPU, seed), (Job::MEMORY, seed)]).map(of).collect();
        all.iter().sum::<f64>() / all.len() as f64
    };
    let found: Vec<f64> = std::thread::scope(|scope| {
        let running: Vec<_> = KINDS.map(|kind| scope.spawn(move || lost(kind))).into();
        running.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    for (kind, lost) in KINDS.iter().zip(found) {
        assert!(lost <= 0.01, "load known, refuses {kind:?}: {lost} of the work");
    }
}

#[test]
fn an_idle_service_leaves_the_machine_to_the_jobs_within_ten_seconds() {
    let (machine, service, objective) = preset::virtual_machine();
    // As many requests as a probe sends by default, and none at all.
    let rates = [100.0 / service.peak_rate, 0.0];
    for (seed, rate) in (0..20).flat_map(|seed| rates.map(|rate| (seed, rate))) {
        let scenario = server(Load::Constant(rate), 30, false, Trouble::default());
        let scenario = Scenario { machine, service, objective, seed, missing: 0.0, ..scenario };
        let outcome = simulate(&scenario, |_| {});
        let full = outcome.series.iter().position(|second| second.cores >= machine.cores - 1e-9);
        assert!(full.is_some_and(|full| full <= 10), "seed {seed}, {rate}: {full:?}");
    }
}

/// A request every two seconds is no evidence for hours; nearly all the time the service is idle.
#[test]
fn single_requests_leave_the_machine_to_the_jobs_and_slow_ones_are_not_repeated() {
    let (mut slow, mut rate) = (0, 0.0);
    for seed in 0..10 {
        let scenario = tests::server(Job::MEMORY, Load::Constant(0.5 / 10_000.0), 1800, Choice::Graded);
        let outcome = simulate(&Scenario { seed, knows_load: false, ..scenario }, |_| {});
        (slow, rate) = (slow + outcome.slow, rate + outcome.be_rate / 10.0);
    }
    // Of about 9,000 requests.
    assert!(slow <= 90 && rate > 0.5, "{slow} slow, {rate:.2} of the jobs' work");
}

/// Jobs that compute are not held at what is too much of jobs that stream through memory, and these not tried again at what those have.
#[test]
fn limits_are_learned_by_kind_of_job() {
    let (mut work, mut bad) = ([0.0; 2], [0; 2]);
    for seed in 0..10 {
        for (number, is_one_kind) in [true, false].into_iter().enumerate() {
            let turns = Some(Turns { other: Job::MEMORY, seconds: 60.0, is_one_kind });
            let scenario = Scenario { turns, seed, ..server(Load::Constant(0.6), 1800, true, Trouble::default()) };
            let outcome = simulate(&scenario, |_| {});
            work[number] += outcome.be_rate;
            bad[number] += outcome.bad_seconds;
        }
    }
    assert!(work[1] > 1.1 * work[0] && bad[1] <= bad[0], "work {work:?}, bad seconds {bad:?}");
}

/// A service whose slowest requests come near its limit, and has few of them: one slow request of thirty is chance, and no reason to hold
/// jobs down. Jobs of this kind disturb it little: they have most of the machine, and it has as many bad seconds as with hardly any.
#[test]
fn chance_does_not_hold_jobs_down_where_a_second_has_few_requests() {
    let (machine, service, objective) = preset::virtual_machine();
    let objective = Objective { limit_ms: 0.6 * objective.limit_ms, ..objective };
    let mut bad = [0; 2];
    for seed in 0..20 {
        let scenario = server(Load::Constant(0.4), 300, true, Trouble::default());
        let scenario = Scenario { machine, service, objective, seed, ..scenario };
        let outcome = simulate(&scenario, |_| {});
        let alone = simulate(&Scenario { policy: Choice::Static(scenario.bounds().floor), ..scenario }, |_| {});
        assert!(outcome.be_rate >= 0.7, "seed {seed}: {}", outcome.be_rate);
        bad = [bad[0] + outcome.bad_seconds, bad[1] + alone.bad_seconds];
    }
    assert!(bad[0] <= bad[1] + 60, "a hundredth of the seconds more than {}: {}", bad[1], bad[0]);
}
