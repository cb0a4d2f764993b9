//! What holds in every world: loads and targets by seed, on a host that varies, with faults.

use crate::targets::{self, Seen};
use crate::worlds::{MS, US, address, options};
use brunt_load::{Arrival, Direct, Options, Report, Silent, Target, run_in_world};
use brunt_results::Span;
use brunt_runtime::Builder;
use brunt_runtime::sim::{Faults, Settings, World};
use brunt_spec::Spread;
use brunt_testkit::each_seed;
use std::{rc::Rc, time::Duration};

fn settings(seed: u64) -> Settings {
    let rough = Settings::rough();
    match seed % 4 {
        0 => Settings::default(),
        1 | 2 => rough,
        _ => Settings {
            faults: Faults { reset: 0.002, refused: 0.01, no_buffers: 0.001, out_of_descriptors: 0.01, ..rough.faults },
            ..rough
        },
    }
}

/// About 500 requests.
fn load(world: &World) -> Options {
    let threads = 1 + world.below(2) as usize;
    let connections = threads + world.below(8) as usize;
    let open = world.below(2) == 0;
    let (rate, length) = world.one_of(&[(2000.0, 250 * MS), (20_000.0, 25 * MS)]);
    Options {
        target: Target::Echo {
            address: address().into(),
            size: world.one_of(&[1, 64, 64, 5000]),
            reuse: world.one_of(&[None, None, None, Some(1), Some(30)]),
        },
        threads: vec![None; threads],
        connections,
        requests: (!open).then_some(500),
        rate: open.then_some(rate),
        arrival: world.one_of(&[Arrival::Constant, Arrival::Poisson]),
        duration: if open { length } else { 1000 * MS },
        warmup: world.one_of(&[Duration::ZERO, Duration::ZERO, 5 * MS]),
        timeout: world.one_of(&[5 * MS, 1000 * MS]),
        direct: Direct {
            spread: world.one_of(&[None, Some(Spread::Turns), Some(Spread::Random)]).filter(|_| open),
            send_tick: world.one_of(&[None, None, Some(Span(MS))]).filter(|_| open),
            ..Direct::default()
        },
        seed: world.random(),
        ..options()
    }
}

/// Runs a load and checks it; returns a digest of all that happened.
fn check(seed: u64) -> u64 {
    let world = World::with_settings(seed, settings(seed));
    let options = load(&world);
    if world.below(4) == 0 {
        world.pause(world.below(30) as u32 * MS, world.below(20) as u32 * MS);
    }
    if world.below(4) == 0 {
        world.slow(Duration::ZERO, 20 * MS, 8);
    }
    let seen = Rc::new(Seen::default());
    let (service, ends) = (world.one_of(&[0, 0, 30, 400]) * US, world.one_of(&[u64::MAX, u64::MAX, 40]));
    world
        .spawn_worker(
            &Builder::default(),
            targets::seen(seen.clone(), options.target.request_bytes().unwrap(), service, ends),
        )
        .unwrap();
    match world.run(run_in_world(&options, &mut Silent)).unwrap() {
        Ok(report) => holds(&options, &report, &seen),
        // With faults, the first connections may fail.
        Err(error) => assert!(seed % 4 == 3, "{error}"),
    }
    world.trace_digest()
}

fn holds(options: &Options, report: &Report, seen: &Seen) {
    let (requests, errors) = (&report.result.requests, &report.result.errors);
    let sum = |of: fn(&brunt_results::series::Second) -> u64| report.seconds.iter().map(of).sum::<u64>();
    let (sent, completed, failed) = (sum(|s| s.sent), sum(|s| s.completed), sum(|s| s.failed));
    // Nothing is lost: what was sent, or was due, is answered, failed, or was in flight at the end of the window. After a warm-up,
    // those that were in flight at the end and then lost are not told from those that the warm-up lost in the window, which a
    // window of a number of requests does not count at all.
    let begun = if options.rate.is_some() { sum(|s| s.offered.unwrap()) } else { sent };
    let (failed_at_all, most) = match options.warmup.is_zero() {
        true => (requests.failed, 0),
        false => (failed, options.connections as u64 * if options.requests.is_some() { 2 } else { 1 }),
    };
    // Those of the last tick are to be sent after the window: 20, at random times fewer than 60.
    let most = most + if options.direct.send_tick.is_some() { 60 } else { 0 };
    let ended = completed + failed_at_all + requests.unanswered;
    assert!((ended..=ended + most).contains(&begun), "{sent} {completed} {failed} {requests:?} {errors:?} {options:?}");
    assert!(errors.total() >= requests.failed, "{sent} {completed} {failed} {requests:?} {errors:?} {options:?}");
    // Each reply is one of the target's, and the target has seen no request that was not sent.
    assert!(completed <= seen.answered.get(), "{completed} of {seen:?}");
    // No more in flight than there are connections; the target may still serve what the load has given up.
    assert!(seen.most.get() <= options.connections as u64 + errors.total(), "{seen:?} {errors:?}");
    let latency = &report.result.latency;
    assert!(latency.service.count <= latency.lag.count, "{latency:?}");
    if failed == 0 && requests.unanswered == 0 {
        let figures = |summary: &brunt_results::LatencySummary| [summary.p50_us, summary.p99_us, summary.max_us];
        let pairs = figures(&latency.response).into_iter().zip(figures(&latency.service));
        pairs.for_each(|(response, service)| assert!(response >= service, "{latency:?}"));
    }
    shape_holds(options, report, sent);
    if let Some(limit) = options.requests {
        assert!(completed + failed <= limit + sum(|s| if s.warmup { s.completed + s.failed } else { 0 }));
    }
}

/// Of so many requests that were sent in all.
fn shape_holds(options: &Options, report: &Report, sent: u64) {
    let result = &report.result;
    assert!(options.rate.is_some() || result.sends.is_none());
    let Some(sends) = &result.sends else { return };
    let shape = format!("{sends:?} {:?} {options:?}", result.requests);
    if options.warmup.is_zero() && result.errors.total() == 0 {
        assert!((sends.count..=sends.count + result.requests.waited.unwrap()).contains(&sent), "{sent} {shape}");
    }
    let scheduled = (sends.per_wakeup_mean * sends.wakeups as f64).round();
    // A wake-up has at least one request; the window may end between it and its sends.
    assert!(sends.wakeups as f64 <= scheduled && sends.per_wakeup_p99 >= 1.0, "{shape}");
    assert!([sends.close_percent, sends.scheduled_close_percent].iter().all(|share| (0.0..=100.0).contains(share)));
    if let Some(rest) = sends.rest {
        assert!(rest.p50_us <= rest.max_us * 1.04 && rest.mean_us <= rest.max_us, "{shape}");
    }
    // A thread has at most as many wake-ups as there are ticks in the window.
    if let Some(tick) = options.direct.send_tick.filter(|_| result.requests.waited == Some(0)) {
        let ticks = (result.load.measured_s / tick.0.as_secs_f64()).floor() + 1.0;
        assert!(sends.wakeups as f64 <= ticks * options.threads.len() as f64, "{ticks} {shape}");
    }
}

#[test]
fn nothing_is_lost_and_each_request_counts_once() {
    each_seed("--test sim properties", 300, check);
}
