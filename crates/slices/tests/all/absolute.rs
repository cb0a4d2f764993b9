//! The figures of a target in one start: which rounds count, and what they add up to.

use brunt_results::LatencySummary;
use brunt_results::hlog::encode;
use brunt_results::latency::new_histogram;
use brunt_results::result::{Load, Server};
use brunt_slices::Slice;
use brunt_slices::absolute::{best, result};

fn slice(target: &str, round: u32, completed: u64, cpu_us: f64) -> Slice {
    let mut response = new_histogram();
    response.record_n(1_000_000, completed).unwrap();
    Slice {
        target: target.to_owned(),
        round,
        completed,
        replies: completed,
        window_us: 100_000,
        busy_us: 100_000,
        abandoned: 3,
        server_cpu_us: Some(cpu_us),
        response: encode(&response),
        ..Slice::default()
    }
}

/// Rounds in which the machine slows down; `a` is luckiest in the slowest.
fn slices() -> Vec<Slice> {
    (1..=40u32)
        .flat_map(|round| {
            let slow = 1.0 + f64::from(round) / 40.0;
            let lucky = if round == 40 { 9 } else { 1 };
            [slice("a", round, 10_000 * lucky, 1e4 * slow), slice("b", round, 9_000, 9e4 * slow)]
        })
        .collect()
}

#[test]
fn rounds_are_chosen_by_the_other_targets() {
    let slices = slices();
    let rounds: Vec<u32> = best(&slices, "a").iter().map(|slice| slice.round).collect();
    assert_eq!(rounds, (1..=10).collect::<Vec<_>>());
    assert_eq!(best(&slices, "c").len(), 0);
    let alone: Vec<Slice> = slices.iter().filter(|slice| slice.target == "a").cloned().collect();
    assert_eq!(best(&alone, "a").len(), 10);
}

#[test]
fn the_figures_are_sums_over_the_slices() {
    let slices = slices();
    let chosen = best(&slices, "b");
    let server = Server { cpu_user_percent: Some(5.0), cpu_system_percent: Some(15.0), ..Server::default() };
    let load = Load { mode: "closed".to_owned(), ..Load::default() };
    let result = result(&chosen, load, server, &[0]).unwrap();
    assert_eq!((result.requests.completed, result.requests.abandoned), (90_000, 30));
    assert!((result.requests.rate - 90_000.0).abs() < 1e-6, "{}", result.requests.rate);
    let cost = result.server.cpu_us_per_request.unwrap();
    assert!(cost > 10.0 && cost < 13.0, "{cost}");
    let (user, system) = (result.server.cpu_user_percent.unwrap(), result.server.cpu_system_percent.unwrap());
    assert!((user * 3.0 - system).abs() < 1e-6 && (user + system - cost * 9e4 / 1e4).abs() < 1e-6);
    assert_eq!(result.latency.response.count, 90_000);
    assert_eq!(result.latency.lag.p99_us, Some(0.0));
    assert!((result.latency.service.p50_us.unwrap() - 1000.0).abs() < 10.0);
}

#[test]
fn percentiles_that_a_tester_reports_are_medians_over_the_slices() {
    let told = |count: u64, us: f64| Slice {
        latency: LatencySummary {
            count,
            mean_us: Some(us),
            p50_us: Some(us),
            max_us: Some(us * 9.0),
            ..LatencySummary::default()
        },
        ..Slice::default()
    };
    let slices = [told(100, 10.0), told(300, 30.0), told(100, 20.0)];
    let load = Load { mode: "closed".to_owned(), ..Load::default() };
    let latency = result(&slices.iter().collect::<Vec<_>>(), load, Server::default(), &[]).unwrap().latency;
    let expected = LatencySummary {
        count: 500,
        mean_us: Some(24.0),
        p50_us: Some(20.0),
        max_us: Some(270.0),
        ..LatencySummary::default()
    };
    assert_eq!((&latency.response, &latency.service), (&expected, &expected));
    assert_eq!(latency.lag, LatencySummary::default());
}
