//! What holds whatever comes: windows of any length that are lost, late, slow or disturbed, and a controller that is held up, under
//! every policy that reacts. A seed that fails is named.

use super::bench::{BOUNDS, Bench, Step, ms, plan, window};
use crate::audit::{Header, Log, Record, VERSION, replay};
use crate::controller::coordinator::Action;
use crate::policy::Reason;
use crate::readings::{Reading, Readings};
use brunt_testkit::Random;
use std::collections::BTreeSet;
use std::time::Duration;

const MINUTE: Duration = Duration::from_secs(60);
const POLICIES: [&str; 6] = ["graded", "heracles", "heracles/10", "heracles-prototype", "koordinator", "parties"];

/// Lengths of windows, in milliseconds.
const LENGTHS: [u64; 5] = [20, 50, 100, 200, 500];

/// A minute under a policy, from a seed.
fn minute(policy: &str, seed: u64, healthy: bool, lengths: &[u64]) -> Bench {
    let mut random = Random::new(seed);
    let mut bench = Bench::new(&plan(policy, ""));
    let (mut at, mut slow) = (Duration::ZERO, 0);
    let mut left = 0;
    let mut length = ms(100);
    while at < MINUTE {
        if left == 0 {
            left = 1 + random.below(60);
            length = ms(lengths[random.below(lengths.len() as u64) as usize]);
            slow = if healthy { 0 } else { [0, 0, 0, 1, 3, 30, 100][random.below(7) as usize] };
        }
        left -= 1;
        at += length;
        if healthy || random.below(200) > 0 {
            let late = ms(random.below(30));
            bench.counts.push_back((at + late, window(at, length, slow)));
        } else {
            at += ms(random.below(5_000));
        }
    }
    // Reports arrive in order.
    let mut arrived = Duration::ZERO;
    for (at, _) in &mut bench.counts {
        arrived = arrived.max(*at);
        *at = arrived;
    }
    if !healthy {
        let mut from = Duration::ZERO;
        for _ in 0..random.below(8) {
            from += ms(random.below(15_000));
            let to = from + ms(1 + random.below(1_500));
            bench.pauses.push((from, to));
            from = to;
        }
        bench.machine = |at| {
            let phase = at.as_millis() / 700;
            let reading = |value| Some(Reading { value, age: 0.0 });
            let (lost, waits) = (phase.is_multiple_of(11), phase.is_multiple_of(13));
            Readings {
                lost: reading(if lost { 0.1 } else { 0.0 }),
                run_delay: reading(if waits { 0.5 } else { 0.0 }),
                be_cpu: reading(if waits { 0.0 } else { 0.5 }),
                lc_cpu: reading(0.3),
                ..Readings::default()
            }
        };
    }
    bench.run(MINUTE);
    bench
}

/// Whether it was held up between two steps.
fn is_held_up(bench: &Bench, from: Duration, to: Duration) -> bool {
    bench.pauses.iter().any(|(begin, end)| *begin < to && *end > from)
}

fn check_times(bench: &Bench, what: &str) {
    for pair in bench.steps.windows(2) {
        let (from, to) = (pair[0].at, pair[1].at);
        let is_in_time = to - from <= ms(100) || is_held_up(bench, from, to);
        assert!(to - from >= ms(20) && is_in_time, "{what}: a step at {from:?}, then at {to:?}");
    }
    let beats: Vec<&Step> = bench.steps.iter().filter(|step| step.actions.contains(&Action::Beat)).collect();
    for pair in beats.windows(2) {
        let (from, to) = (pair[0].at, pair[1].at);
        assert!(to - from < ms(150) || is_held_up(bench, from, to), "{what}: heartbeats at {from:?} and {to:?}");
    }
    // Only a controller that was held up loses its jobs to the guardian.
    for at in &bench.frozen_by_guardian {
        assert!(is_held_up(bench, *at - ms(300), *at), "{what}: frozen at {at:?}");
    }
}

fn check_bounds(bench: &Bench, what: &str) {
    let mut group = None;
    for Step { at, readings, decision, actions } in &bench.steps {
        let cores = decision.allotment.cores;
        assert!(cores == 0.0 || (BOUNDS.floor..=BOUNDS.ceiling).contains(&cores), "{what}: {cores} cores at {at:?}");
        let age = readings.requests.map_or(at.as_secs_f64(), |requests| requests.age);
        let is_lost = age > 3.0;
        assert!(!is_lost || decision.reason == Reason::Lost && cores == 0.0, "{what}: age {age} at {at:?}");
        let is_stale = !is_lost && (age > 1.0 || readings.requests.is_none());
        let is_floor = decision.reason == Reason::Stale && cores <= BOUNDS.floor;
        assert!(!is_stale || is_floor, "{what}: age {age} at {at:?}");
        // Heracles keeps its last reason until it polls.
        let is_reason = matches!(decision.reason, Reason::Lost | Reason::Stale);
        assert!(is_lost || is_stale || !is_reason || what.starts_with("heracles"), "{what}: age {age} at {at:?}");
        let applied = actions.iter().find_map(|action| match action {
            Action::Apply(allotment) => Some(*allotment),
            _ => None,
        });
        group = applied.or(group);
        assert_eq!(group, Some(decision.allotment), "{what}: in effect at {at:?}");
        let rank = |action: &Action| match action {
            Action::Beat => 0,
            Action::Apply(_) => 1,
            Action::Jobs { .. } => 2,
            Action::Log(_) => 3,
            Action::BeginFigures => 4,
            Action::WriteStatus => 5,
            Action::Recapture => 6,
        };
        assert!(actions.is_sorted_by(|one, other| rank(one) < rank(other)), "{what}: {actions:?}");
        assert!(actions.contains(&Action::Jobs { frozen: cores == 0.0 }), "{what}: {actions:?}");
    }
}

/// Growth of the policy `graded` is by a step or to twice, at most five times a second, and never while the machine is slow.
fn check_growth(bench: &Bench, what: &str) {
    let mut grown: Option<Duration> = None;
    for pair in bench.steps.windows(2) {
        let [before, Step { at, readings, decision, .. }] = pair else { unreachable!() };
        let had = before.decision.allotment.cores;
        let more = decision.allotment.cores - had;
        if more <= 0.0 || before.decision.allotment.is_frozen() {
            continue;
        }
        assert!(decision.reason == Reason::Grow && more < had.max(0.15) + 1e-9, "{what}: {more} cores more at {at:?}");
        assert!(readings.lost.is_none_or(|lost| lost.value < 0.02), "{what}: grown on a slow machine at {at:?}");
        assert!(grown.is_none_or(|grown| *at - grown >= ms(200)), "{what}: grown at {at:?} and {grown:?}");
        grown = Some(*at);
    }
}

/// Under `graded`, jobs are frozen in the step that reads of the 0.15th second in which 30 % of the requests were slow, and no step
/// that reads of slow ones thaws them: unless the service waits for others, the jobs were idle, or the machine is slow. A window
/// that began more than a quarter of a second ago, as a long one or a late one, does not count for a thaw.
fn check_freezes(bench: &Bench, what: &str) -> usize {
    let (mut slow, mut end, mut thawed, mut was_frozen, mut checked) = (0.0, 0.0, 0.0, false, 0);
    let mut idle = f64::NEG_INFINITY;
    for Step { at, readings, decision, .. } in &bench.steps {
        let Some(reading) = readings.requests else { continue };
        let (now, requests) = (at.as_secs_f64(), reading.value);
        let new_end = now - reading.age;
        if new_end > end + 1e-3 {
            // Windows that began before the last thaw do not count, and neither do those before a gap.
            let begin = new_end - requests.seconds;
            let is_slow = requests.slow * 10 >= requests.count * 3 && begin >= thawed;
            let before = if begin < end + 2e-3 { slow } else { 0.0 };
            slow = if is_slow { before + requests.seconds } else { 0.0 };
            end = new_end;
        }
        if readings.are_jobs_idle() {
            idle = now;
        }
        // The window in which the jobs begin again comes later.
        let is_disturbed = now - idle < 0.25
            || readings.run_delay.is_some_and(|delay| delay.value > 0.0)
            || readings.lost.is_some_and(|lost| lost.value > 0.0);
        let is_frozen = decision.allotment.is_frozen();
        if slow >= 0.16 && requests.seconds < 0.11 && reading.age < 0.13 && !is_disturbed {
            assert!(is_frozen, "{what}: {slow} s of slow requests at {at:?}: {decision:?}");
            checked += 1;
        }
        if was_frozen && !is_frozen {
            (thawed, slow) = (now, 0.0);
        }
        was_frozen = is_frozen;
    }
    checked
}

#[test]
fn bounds_times_and_order_hold_under_every_policy() {
    for policy in POLICIES {
        for seed in 0..20 {
            let (bench, what) = (minute(policy, seed, false, &LENGTHS), format!("{policy}, seed {seed}"));
            check_times(&bench, &what);
            check_bounds(&bench, &what);
        }
    }
}

#[test]
fn graded_grows_by_steps_and_freezes_at_once() {
    let mut checked = 0;
    for seed in 100..160 {
        let (bench, what) = (minute("graded", seed, false, &LENGTHS), format!("seed {seed}"));
        check_growth(&bench, &what);
        checked += check_freezes(&bench, &what);
    }
    assert!(checked > 1000, "{checked} steps");
}

#[test]
fn a_healthy_service_never_costs_its_jobs_anything() {
    for seed in 0..30 {
        let bench = minute("graded", seed, true, &LENGTHS);
        let cores: Vec<f64> = bench.steps.iter().map(|step| step.decision.allotment.cores).collect();
        assert!(cores.is_sorted() && cores.last() == Some(&BOUNDS.ceiling), "seed {seed}: {:?}", bench.decisions());
        assert!(bench.frozen_by_guardian.is_empty());
    }
}

#[test]
fn equal_seeds_decide_equally_and_a_log_is_decided_again_as_it_was() {
    for (seed, policy) in (200..220).zip(POLICIES.iter().cycle()) {
        let records = |bench: &Bench| -> Vec<Record> {
            let logged = |action: &Action| match action {
                Action::Log(record) => Some(*record),
                _ => None,
            };
            bench.steps.iter().flat_map(|step| &step.actions).filter_map(logged).collect()
        };
        let all = records(&minute(policy, seed, false, &LENGTHS));
        assert_eq!(all, records(&minute(policy, seed, false, &LENGTHS)), "seed {seed}");
        let objective = plan(policy, "").service.slo;
        let header = Header { version: VERSION, policy: (*policy).to_owned(), objective, bounds: BOUNDS };
        let mut log = Vec::new();
        let mut writer = Log::begin(&mut log, &header).unwrap();
        all.iter().for_each(|record| writer.add(record).unwrap());
        let again = replay(&log[..], None).unwrap();
        assert_eq!((again.equal, again.first_difference), (all.len() as u64, None), "{policy}, seed {seed}");
        let reasons: BTreeSet<Reason> = all.iter().map(|record| record.decision.reason).collect();
        assert!(reasons.len() > 1, "{policy}, seed {seed}: {reasons:?}");
    }
}
