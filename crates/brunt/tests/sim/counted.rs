//! Loads of a number of requests: as many are sent, each ends, and all are recorded.

use crate::targets::{get, reply, serve};
use crate::worlds::{MS, Run, SECOND, US, exact, options, run};
use brunt_load::http::Pipeline;
use brunt_load::{Arrival, Options};
use brunt_serve::http::handler::Response;
use brunt_testkit::{Random, each_seed};
use std::time::Duration;

/// Numbers, connections and rates are up to 50.
const MOST: u64 = 50;
const SEEDS: u64 = 600;

/// Every third seed is an open loop.
fn case(seed: u64) -> (Options, u64) {
    let mut random = Random::new(seed);
    let mut draw = |most: u64| 1 + random.below(most);
    let (requests, connections) = (draw(MOST), draw(MOST));
    let is_open = seed.is_multiple_of(3);
    let depth = draw(8) as u32;
    let pipeline = if is_open { Pipeline::Single(depth) } else { Pipeline::Batches(depth) };
    let options = Options {
        connections: connections as usize,
        threads: vec![None; draw(connections.min(3)) as usize],
        rate: is_open.then(|| draw(2 * MOST) as f64 / 2.0),
        arrival: if is_open && seed.is_multiple_of(5) { Arrival::Poisson } else { Arrival::Constant },
        requests: Some(requests),
        duration: 3600 * SECOND,
        // Requests of a warm-up are none of them, also if they end in the window.
        warmup: if seed.is_multiple_of(4) { draw(2000) as u32 * MS } else { Duration::ZERO },
        ..options(get(pipeline, None))
    };
    (options, requests)
}

fn check(seed: u64) -> u64 {
    let (options, requests) = case(seed);
    let (serve, seen) = serve(|number| Response { delay: (1 + number * 7919 % 5000) as u32 * US, ..reply() }, 1);
    let Run { report, responses, .. } = run(&exact(), &options, serve).unwrap();
    let result = report.result;
    let told = &result.requests;
    let why = || format!("{told:?} {options:?}");
    assert_eq!((told.completed, told.failed, told.unanswered, told.abandoned), (requests, 0, 0, 0), "{}", why());
    assert_eq!((result.latency.response.count, result.latency.service.count), (requests, requests), "{}", why());
    assert_eq!(responses.len(), requests);
    let sent: u64 = report.seconds.iter().map(|second| second.sent).sum();
    assert_eq!(seen.requests(), sent, "{}", why());
    if options.warmup.is_zero() {
        assert_eq!(sent, requests, "{}", why());
    }
    if let (Some(rate), Arrival::Constant) = (options.rate, options.arrival) {
        // The longest service is 5 ms: a window whose last requests end behind it is longer by that.
        let paced = requests as f64 / rate;
        assert!(told.rate <= rate + 1e-6 && told.rate >= requests as f64 / (paced + 0.006), "{}", why());
    }
    told.completed
}

#[test]
fn a_number_of_requests_is_sent_and_each_is_recorded() {
    each_seed("--test sim counted", SEEDS, check);
}
