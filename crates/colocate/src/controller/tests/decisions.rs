//! What is decided when counts are good, bad, late or gone, to the millisecond.

use super::bench::{Bench, ms, plan};
use crate::policy::Reason::{
    Ceiling, Cooldown, Emergency, Failing, Fixed, Grow, Hold, KnownLimit, Lost, NotJobs, Shrink, SlowMachine, Stale,
};
use crate::readings::{Reading, Readings};

#[test]
fn healthy_counts_far_from_the_objective_let_jobs_grow_to_twice_every_200_ms_up_to_the_ceiling() {
    let mut bench = Bench::new(&plan("graded", ""));
    bench.feed(ms(0), ms(30_000), 0);
    bench.run(ms(30_000));
    let mut expected = vec![(0, Stale, 0.05), (50, Hold, 0.05)];
    // By a twentieth of the range at first.
    let levels = [0.15, 0.3, 0.6, 1.2, 2.05];
    for (at, cores) in (250..).step_by(200).zip(levels) {
        let next = if cores < 2.05 { Hold } else { Ceiling };
        expected.extend([(at, Grow, cores), (at + 100, next, cores)]);
    }
    assert_eq!(bench.decisions(), expected);
}

#[test]
fn too_many_slow_requests_freeze_the_jobs_until_the_service_is_well_again() {
    let mut bench = Bench::new(&plan("graded", ""));
    bench.feed(ms(0), ms(1_000), 0);
    bench.feed(ms(1_000), ms(2_000), 20);
    bench.feed(ms(2_000), ms(5_000), 0);
    bench.run(ms(9_000));
    let decisions = bench.decisions();
    let expected = [
        (950, Hold, 1.2),
        // The first slow window halves what they have, the second is no pause any more.
        (1_050, Shrink, 0.6),
        (1_150, Emergency, 0.0),
        // For half a second, and until no request of the last quarter of a second was slow: the last slow window ends at 1.95 s.
        (1_250, Cooldown, 0.0),
        (2_150, Hold, 0.3),
        // Up to nine tenths of what was too much, or seemed to be: it was slow while they were frozen, too.
        (2_350, Grow, 0.4),
        (2_450, Hold, 0.4),
        (2_550, Grow, 0.5),
        (2_650, KnownLimit, 0.5),
        // The last window ends at 4.95 s.
        (6_050, Stale, 0.05),
        (8_050, Lost, 0.0),
    ];
    assert_eq!(decisions[decisions.len() - expected.len()..], expected);
    assert_eq!(bench.coordinator.tally().slow_share(), Some(2_000.0 / 50_000.0));
}

#[test]
fn emergencies_that_recur_freeze_for_twice_as_long() {
    let mut bench = Bench::new(&plan("graded", ""));
    for round in 0..6 {
        bench.feed(ms(20_000 * round), ms(20_000 * round + 1_000), 0);
        bench.feed(ms(20_000 * round + 1_000), ms(20_000 * round + 1_200), 20);
        bench.feed(ms(20_000 * round + 1_200), ms(20_000 * (round + 1)), 0);
    }
    bench.run(ms(120_000));
    let frozen = bench.steps.split(|step| !step.decision.allotment.is_frozen()).filter(|steps| !steps.is_empty());
    let frozen: Vec<u128> = frozen.map(|steps| (steps[steps.len() - 1].at - steps[0].at).as_millis() + 100).collect();
    // At last they run at the floor, and are hardly the cause.
    assert_eq!(frozen, [500, 1000, 2000, 4000, 8000, 500]);
}

#[test]
fn counts_that_stop_mean_the_floor_after_the_deadline_and_a_freeze_after_three() {
    for policy in ["graded", "heracles", "heracles-prototype", "koordinator", "parties"] {
        let mut bench = Bench::new(&plan(policy, ""));
        bench.feed(ms(0), ms(10_000), 0);
        bench.feed(ms(20_000), ms(20_100), 0);
        bench.run(ms(21_000));
        let decisions = bench.decisions();
        let from: Vec<_> = decisions.iter().filter(|(at, ..)| *at >= 10_000).collect();
        // The last window ended at 9.95 s; at 10.95 s and at 12.95 s it is just not too old.
        let gone: Vec<_> = from.iter().filter(|(_, reason, _)| matches!(reason, Stale | Lost)).collect();
        assert_eq!(gone[..2], [&&(11_050, Stale, 0.05), &&(13_050, Lost, 0.0)], "{policy}");
        let at = bench.steps.iter().position(|step| step.at == ms(20_050)).unwrap();
        let [before, after] = [at - 1, at].map(|step| bench.steps[step].decision);
        assert_eq!((before.reason, before.allotment.is_frozen()), (Lost, true), "{policy}");
        assert!(after.reason != Lost || policy.starts_with("heracles"), "{policy}: {after:?}");
        assert!(after.allotment.cores <= 0.05 || policy != "graded", "{policy}: {after:?}");
    }
    let mut bench = Bench::new(&plan("static=1.5", ""));
    bench.run(ms(10_000));
    assert_eq!(bench.decisions(), [(0, Fixed, 1.5)]);
}

#[test]
fn without_any_counts_jobs_have_the_floor_and_then_nothing() {
    let mut bench = Bench::new(&plan("graded", ""));
    bench.run(ms(10_000));
    assert_eq!(bench.decisions(), [(0, Stale, 0.05), (3_100, Lost, 0.0)]);
}

#[test]
fn jobs_do_not_grow_while_the_machine_is_slow() {
    let mut bench = Bench::new(&plan("graded", ""));
    bench.feed(ms(0), ms(4_000), 0);
    bench.machine = |at| {
        let lost = if (ms(1_000)..ms(2_000)).contains(&at) { 0.05 } else { 0.0 };
        Readings { lost: Some(Reading { value: lost, age: 0.0 }), ..Readings::default() }
    };
    bench.run(ms(2_200));
    let decisions = bench.decisions();
    let expected = [(950, Hold, 1.2), (1_050, SlowMachine, 1.2), (2_050, Grow, 2.05), (2_150, Ceiling, 2.05)];
    assert_eq!(decisions[decisions.len() - 4..], expected);
}

/// A service that restarts refuses requests for a second: that is no latency, and teaches nothing.
#[test]
fn requests_that_fail_at_once_freeze_the_jobs_and_teach_nothing() {
    let mut bench = Bench::new(&plan("graded", ""));
    bench.feed(ms(0), ms(10_000), 0);
    bench.feed_failing(ms(10_000), ms(11_000));
    bench.feed(ms(11_000), ms(30_000), 0);
    bench.run(ms(30_000));
    let decisions = bench.decisions();
    let from = decisions.iter().position(|(at, ..)| *at >= 10_000).unwrap();
    let expected = [
        // One window may be a single refusal.
        (10_150, Failing, 0.0),
        // Until none has failed for a quarter of a second.
        (11_150, Hold, 1.025),
        (11_350, Grow, 2.05),
        (11_450, Ceiling, 2.05),
    ];
    assert_eq!(decisions[from..], expected);
    assert!(bench.coordinator.limits().is_empty());
}

/// Without any job, there is none to blame: two slow windows may freeze them, more do not.
#[test]
fn a_service_that_is_slow_while_the_jobs_are_idle_costs_them_nothing() {
    let mut bench = Bench::new(&plan("graded", ""));
    bench.feed(ms(0), ms(5_000), 0);
    bench.feed(ms(5_000), ms(15_000), 30);
    bench.feed(ms(15_000), ms(16_000), 0);
    bench.machine = |_| {
        let be_cpu = Some(Reading { value: 0.001, age: 0.0 });
        Readings { be_cpu, ..Readings::default() }
    };
    bench.run(ms(15_500));
    let frozen = bench.steps.iter().filter(|step| step.decision.allotment.is_frozen()).count();
    let reasons = bench.decisions().into_iter().map(|(_, reason, _)| reason).collect::<Vec<_>>();
    assert!(reasons.contains(&NotJobs) && !reasons.contains(&Emergency) && frozen == 0, "{reasons:?}");
    assert_eq!(bench.steps.last().unwrap().decision.allotment.cores, 2.05);
    assert!(bench.coordinator.limits().is_empty());
}
