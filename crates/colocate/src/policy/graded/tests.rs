use super::*;
use crate::readings::Reading;
use proptest::prelude::*;

const OBJECTIVE: Objective = Objective { quantile: 0.99, limit_ms: 6.0 };
const BOUNDS: Bounds = Bounds::new(0.05, 2.0);
const TICK: Duration = Duration::from_millis(20);

/// What a tick reads.
#[derive(Debug, Clone, Copy)]
struct Seen {
    count: u64,
    /// Slow ones, in a thousand, and of these those that failed at once.
    slow: u64,
    failed: u64,
    latency_ms: f64,
    load: f64,
    age: f64,
    lost: f64,
}

impl Seen {
    fn readings(self) -> Readings {
        let Self { count, slow, failed, latency_ms, load, age, lost } = self;
        let [slow, failed] = [slow, failed].map(|part| count * part / 1000);
        let requests = Requests { seconds: 0.02, count, slow, failed, latency_ms, load: Some(load) };
        let reading = |value| Some(Reading { value, age: 0.0 });
        Readings { requests: Some(Reading { value: requests, age }), lost: reading(lost), ..Readings::default() }
    }

    fn worse(self, other: Self) -> Self {
        Self {
            slow: self.slow.max(other.slow),
            latency_ms: self.latency_ms.max(other.latency_ms),
            load: self.load.max(other.load),
            ..self
        }
    }
}

fn seen() -> impl Strategy<Value = Seen> {
    let slow = prop_oneof![6 => Just(0u64), 2 => 1..20u64, 1 => 20..1000u64];
    let age = prop_oneof![20 => Just(0.0), 1 => 0.0..5.0f64];
    let lost = prop_oneof![5 => Just(0.0), 1 => 0.0..0.2f64];
    (10..2000u64, slow, 1.0..10.0f64, 0.0..1.1f64, age, lost).prop_map(|(count, slow, latency_ms, load, age, lost)| {
        Seen { count, slow, failed: 0, latency_ms, load, age, lost }
    })
}

/// Stretches of the same readings: a policy that sees others at every tick hardly moves.
fn stretches() -> impl Strategy<Value = Vec<Seen>> {
    proptest::collection::vec((seen(), 1..100usize), 1..30)
        .prop_map(|stretches| stretches.into_iter().flat_map(|(seen, length)| vec![seen; length]).collect())
}

fn policy() -> Graded {
    Graded::new(Settings::new(OBJECTIVE, BOUNDS))
}

fn time(tick: usize) -> Duration {
    TICK * u32::try_from(tick).unwrap()
}

proptest! {
    #[test]
    fn levels_are_within_bounds_and_grow_only_on_fresh_data_after_a_period(seen in stretches()) {
        let (mut policy, mut last, mut grown) = (policy(), Allotment::cores(BOUNDS.floor), None);
        for (tick, seen) in seen.into_iter().enumerate() {
            let now = time(tick);
            let Decision { allotment, reason } = policy.decide(now, &seen.readings());
            prop_assert!(allotment.is_frozen() || (BOUNDS.floor..=BOUNDS.ceiling).contains(&allotment.cores));
            if seen.age > 1.0 {
                prop_assert!(allotment.cores <= BOUNDS.floor, "{reason:?}");
            }
            if allotment.cores > last.cores && !last.is_frozen() {
                prop_assert!(grown.is_none_or(|grown| now >= grown + Duration::from_millis(200)));
                prop_assert!(reason == Reason::Grow && seen.lost < SLOW_MACHINE && seen.age <= 1.0, "{reason:?}");
                grown = Some(now);
            }
            last = allotment;
        }
    }

    #[test]
    fn worse_readings_never_allot_more(before in stretches(), one in seen(), other in seen()) {
        let mut policy = policy();
        for (tick, seen) in before.iter().enumerate() {
            policy.decide(time(tick), &seen.readings());
        }
        let now = time(before.len());
        let of = |seen: Seen| policy.clone().decide(now, &seen.readings());
        let (good, worse) = (of(one), of(one.worse(other)));
        prop_assert!(worse.allotment.cores <= good.allotment.cores, "{good:?} {worse:?}");
    }
}

/// Ticks after which what is slow is no single burst.
const LASTS: usize = 8;

const GOOD: Seen = Seen { count: 100, slow: 0, failed: 0, latency_ms: 2.0, load: 0.5, age: 0.0, lost: 0.0 };

/// Feeds the same readings for so many ticks; the reasons in order, each once.
fn feed(policy: &mut Graded, tick: &mut usize, ticks: usize, seen: Seen) -> (f64, Vec<Reason>) {
    let mut reasons = Vec::new();
    let mut cores = 0.0;
    for _ in 0..ticks {
        let decision = policy.decide(time(*tick), &seen.readings());
        *tick += 1;
        cores = decision.allotment.cores;
        reasons.push(decision.reason);
    }
    reasons.dedup();
    (cores, reasons)
}

#[test]
fn bursts_of_slow_requests_freeze_at_once_and_are_remembered() {
    let (mut policy, mut tick) = (policy(), 0);
    assert_eq!(feed(&mut policy, &mut tick, 500, GOOD).0, BOUNDS.ceiling);
    // 30 % slow: less than 0.2 s is enough.
    let (cores, reasons) = feed(&mut policy, &mut tick, LASTS, Seen { slow: 300, ..GOOD });
    assert_eq!((cores, reasons.last()), (0.0, Some(&Reason::Emergency)), "{reasons:?}");
    let (cores, _) = feed(&mut policy, &mut tick, 500, GOOD);
    // What is slow at first makes it shrink, to 0.7 of the ceiling.
    assert!((1.25..1.30).contains(&cores), "9 tenths of what broke, a little later: {cores}");
    // At a lower load it says nothing, at a higher one all the more.
    assert_eq!(feed(&mut policy, &mut tick, 500, Seen { load: 0.2, ..GOOD }).0, BOUNDS.ceiling);
    let (cores, reasons) = feed(&mut policy, &mut tick, 1, Seen { load: 0.8, ..GOOD });
    assert!(cores < 1.9 && reasons == [Reason::KnownLimit]);
}

#[test]
fn a_shrink_and_the_emergency_that_follows_it_cost_half_where_requests_are_few() {
    for (count, part) in [(10, 0.5), (100, 0.35)] {
        let (mut policy, mut tick, good) = (policy(), 0, Seen { count, ..GOOD });
        let (before, _) = feed(&mut policy, &mut tick, 5000, good);
        let (_, reasons) = feed(&mut policy, &mut tick, 2 * LASTS, Seen { slow: 300, ..good });
        assert!(before == BOUNDS.ceiling && reasons.contains(&Reason::Shrink), "{before} {reasons:?}");
        assert!(reasons.contains(&Reason::Emergency), "{reasons:?}");
        let mut first = 0.0;
        while first == 0.0 {
            first = feed(&mut policy, &mut tick, 1, good).0;
        }
        assert!(first <= part * BOUNDS.ceiling && first > 0.8 * part * BOUNDS.ceiling, "{count}: {first}");
    }
}

#[test]
fn where_no_request_comes_jobs_grow_if_the_service_certainly_does_nothing() {
    let nothing = Seen { count: 0, latency_ms: 0.0, ..GOOD };
    let reading = |value| Some(Reading { value, age: 0.0 });
    let after = |policy: &mut Graded, tick: &mut usize, seconds: usize, lc_cpu| {
        let readings = Readings { lc_cpu, ..nothing.readings() };
        (0..50 * seconds).for_each(|_| {
            policy.decide(time(*tick), &readings);
            *tick += 1;
        });
        policy.level
    };
    // A service that starves looks as one that gets nothing, but for the CPU time that it waits for.
    for (cpu, level) in [(None, BOUNDS.floor), (reading(0.3), BOUNDS.floor), (reading(0.001), BOUNDS.ceiling)] {
        assert_eq!(after(&mut policy(), &mut 0, 10, cpu), level, "{cpu:?}");
    }
    // A request that was slow: up to half of what they had, until it is forgotten.
    let (mut policy, mut tick) = (policy(), 0);
    after(&mut policy, &mut tick, 10, reading(0.001));
    feed(&mut policy, &mut tick, 1, Seen { count: 1, slow: 1000, ..GOOD });
    let level = after(&mut policy, &mut tick, 200, reading(0.001));
    assert!(level <= BOUNDS.ceiling / 2.0, "{level}");
    assert_eq!(after(&mut policy, &mut tick, 200, reading(0.001)), BOUNDS.ceiling);
}

#[test]
fn a_slow_machine_is_not_the_jobs_doing() {
    let (mut policy, mut tick) = (policy(), 0);
    feed(&mut policy, &mut tick, 500, GOOD);
    feed(&mut policy, &mut tick, 2, Seen { slow: 300, lost: 0.1, ..GOOD });
    assert_eq!(feed(&mut policy, &mut tick, 1000, GOOD).0, BOUNDS.ceiling);
}

#[test]
fn a_core_that_others_have_is_not_the_jobs_doing() {
    let slow = Seen { slow: 300, ..GOOD };
    let reading = |value| Some(Reading { value, age: 0.0 });
    for (cores, is_blamed) in [(0.001, false), (0.5, true)] {
        let (mut policy, mut tick) = (policy(), 0);
        feed(&mut policy, &mut tick, 500, GOOD);
        let readings = Readings { run_delay: reading(0.6), be_cpu: reading(cores), ..slow.readings() };
        let decisions = (0..200).map(|_| {
            tick += 1;
            policy.decide(time(tick), &readings)
        });
        let frozen = decisions.filter(|decision| decision.allotment.is_frozen()).count();
        assert_eq!(frozen > 0, is_blamed, "{cores} cores: frozen in {frozen} of 200 ticks");
        // Slow while they were frozen, too, it is a guess: tried again after seconds.
        let (level, _) = feed(&mut policy, &mut tick, 100, GOOD);
        assert_eq!(level < BOUNDS.ceiling, is_blamed, "{cores} cores");
        assert_eq!(feed(&mut policy, &mut tick, 1000, GOOD).0, BOUNDS.ceiling);
    }
}

#[test]
fn single_bursts_neither_freeze_nor_teach_a_limit() {
    let (mut policy, mut tick) = (policy(), 0);
    feed(&mut policy, &mut tick, 500, GOOD);
    for _ in 0..20 {
        let (_, reasons) = feed(&mut policy, &mut tick, 4, Seen { slow: 100, ..GOOD });
        assert!(!reasons.contains(&Reason::Emergency), "{reasons:?}");
        let (cores, reasons) = feed(&mut policy, &mut tick, 500, GOOD);
        assert!(cores == BOUNDS.ceiling && !reasons.contains(&Reason::KnownLimit), "{cores} {reasons:?}");
    }
}

#[test]
fn emergencies_that_recur_freeze_for_twice_as_long() {
    let (mut policy, mut tick) = (policy(), 0);
    let mut frozen = Vec::new();
    for _ in 0..4 {
        feed(&mut policy, &mut tick, 100, GOOD);
        let from = tick;
        feed(&mut policy, &mut tick, LASTS, Seen { slow: 300, ..GOOD });
        while policy.decide(time(tick), &GOOD.readings()).allotment.is_frozen() {
            tick += 1;
        }
        frozen.push((tick - from) / 25);
    }
    assert_eq!(frozen, [1, 2, 4, 8]);
}

#[test]
fn data_that_stop_mean_the_floor_then_a_freeze() {
    let (mut policy, mut tick) = (policy(), 0);
    feed(&mut policy, &mut tick, 500, GOOD);
    assert_eq!(feed(&mut policy, &mut tick, 1, Seen { age: 1.1, ..GOOD }), (BOUNDS.floor, vec![Reason::Stale]));
    assert_eq!(feed(&mut policy, &mut tick, 1, Seen { age: 3.1, ..GOOD }), (0.0, vec![Reason::Lost]));
    // What comes back starts from the floor.
    assert!(feed(&mut policy, &mut tick, 5, GOOD).0 < 0.2);
}
