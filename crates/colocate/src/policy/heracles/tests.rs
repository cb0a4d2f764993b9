use super::*;

const OBJECTIVE: Objective = Objective { quantile: 0.99, limit_ms: 6.0 };
const BOUNDS: Bounds = Bounds::new(0.1, 8.0);

fn readings(latency_ms: f64, load: f64) -> Readings {
    let requests = Requests { seconds: 1.0, count: 1000, slow: 0, failed: 0, latency_ms, load: Some(load) };
    Readings { requests: Some(Reading { value: requests, age: 0.0 }), ..Readings::default() }
}

fn share(value: f64) -> Option<Reading<f64>> {
    Some(Reading { value, age: 0.0 })
}

/// The decision after so many seconds of the same readings.
fn after(policy: &mut Heracles, from: u64, seconds: u64, readings: &Readings) -> Decision {
    let ticks = (from * 10..=(from + seconds) * 10).map(|tick| Duration::from_millis(tick * 100));
    ticks.map(|now| policy.decide(now, readings)).last().unwrap()
}

#[test]
fn transitions_are_those_of_the_paper() {
    let paper = Settings::paper(OBJECTIVE, BOUNDS);
    // Slack of 50 %, load of 50 %: a core every 2 s, after the first.
    let mut policy = Heracles::new(paper);
    assert_eq!(after(&mut policy, 0, 7, &readings(3.0, 0.5)).allotment.cores, 5.0);
    // At 7 % slack no growth, from the next poll on; below 5 % all but two cores are taken.
    assert_eq!(after(&mut policy, 8, 6, &readings(5.6, 0.5)).allotment.cores, 8.0);
    assert_eq!(after(&mut policy, 15, 23, &readings(5.6, 0.5)).reason, Reason::Hold);
    assert_eq!(after(&mut policy, 39, 16, &readings(5.8, 0.5)).allotment.cores, 2.0);
    // A miss ends the jobs for five minutes, whatever follows.
    assert!(after(&mut policy, 56, 16, &readings(6.1, 0.5)).allotment.is_frozen());
    assert!(after(&mut policy, 73, 270, &readings(3.0, 0.5)).allotment.is_frozen());
    assert!(!after(&mut policy, 344, 60, &readings(3.0, 0.5)).allotment.is_frozen());
    // Load: off above 85 %, on below 80 %.
    assert_eq!(after(&mut policy, 405, 16, &readings(3.0, 0.86)).reason, Reason::HighLoad);
    assert!(after(&mut policy, 422, 60, &readings(3.0, 0.82)).allotment.is_frozen());
    assert!(!after(&mut policy, 483, 16, &readings(3.0, 0.79)).allotment.is_frozen());
}

#[test]
fn the_prototype_waits_for_a_second_miss_and_takes_one_core() {
    let mut policy = Heracles::new(Settings::prototype(OBJECTIVE, BOUNDS));
    assert_eq!(after(&mut policy, 0, 21, &readings(3.0, 0.5)).allotment.cores, 6.0);
    // One more before the poll that takes one.
    assert_eq!(after(&mut policy, 22, 8, &readings(5.0, 0.5)).allotment.cores, 6.0);
    assert!(!after(&mut policy, 31, 9, &readings(6.1, 0.5)).allotment.is_frozen());
    assert!(after(&mut policy, 41, 9, &readings(6.1, 0.5)).allotment.is_frozen());
}

#[test]
fn memory_bandwidth_near_its_peak_takes_cores_and_bounds_growth() {
    let mut policy = Heracles::new(Settings::paper(OBJECTIVE, BOUNDS));
    let with = |total, of_jobs| Readings {
        memory_bandwidth: share(total),
        be_memory_bandwidth: share(of_jobs),
        ..readings(3.0, 0.5)
    };
    // 0.2 a core: a fourth core would reach 1.0.
    let decision = after(&mut policy, 0, 3, &with(0.4, 0.2));
    assert_eq!((decision.allotment.cores, decision.reason), (3.0, Reason::Grow));
    let decision = after(&mut policy, 4, 3, &with(0.8, 0.6));
    assert_eq!((decision.allotment.cores, decision.reason), (3.0, Reason::MemoryBandwidth));
    // 0.1 above the limit, 0.2 a core: half a core less, every two seconds.
    assert_eq!(after(&mut policy, 8, 1, &with(1.0, 0.6)).allotment.cores, 2.5);
}

#[test]
fn the_network_is_what_the_service_leaves_of_the_link() {
    let mut policy = Heracles::new(Settings { link: Some(100.0), ..Settings::paper(OBJECTIVE, BOUNDS) });
    let with = |sent| Readings { lc_network: share(sent), ..readings(3.0, 0.5) };
    assert_eq!(after(&mut policy, 0, 1, &with(20.0)).allotment.network, Some(75));
    assert_eq!(after(&mut policy, 2, 1, &with(60.0)).allotment.network, Some(34));
    assert_eq!(after(&mut policy, 4, 1, &with(98.0)).allotment.network, Some(0));
}

#[test]
fn cache_that_does_not_lower_the_bandwidth_is_taken_back() {
    let settings = Settings { cache_step: Some(0.1), ..Settings::paper(OBJECTIVE, BOUNDS) };
    let with =
        |total| Readings { memory_bandwidth: share(total), be_memory_bandwidth: share(0.1), ..readings(3.0, 0.5) };
    let mut policy = Heracles::new(settings);
    let cache = |decision: Decision| (decision.allotment.cache.unwrap() * 10.0).round();
    assert_eq!(cache(after(&mut policy, 0, 1, &with(0.5))), 2.0);
    assert_eq!(cache(after(&mut policy, 2, 1, &with(0.5))), 1.0);
    assert_eq!(after(&mut policy, 4, 1, &with(0.5)).allotment.cores, 2.0);
}
