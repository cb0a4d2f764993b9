//! What holds in every world: loads and servers by seed, about 500 requests each, on a host that varies, with faults.
//!
//! `BRUNT_SEEDS=10000` tries more of them; `BRUNT_SEED=7` one.

use crate::http::{get, reply, serve};
use crate::worlds::{MS, Run, SECOND, Serve, US, address, options, run};
use brunt_load::http::Pipeline;
use brunt_load::{Arrival, Options, Target};
use brunt_results::series::Second;
use brunt_runtime::sim::{Faults, Settings, World};
use brunt_serve::http::handler::{Fault, Response};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::{env, thread, time::Duration};

/// Draws from a world's generator.
struct Draw<'w>(&'w World);

impl Draw<'_> {
    fn below(&self, end: u64) -> u64 {
        self.0.random() % end
    }

    fn of<T: Copy>(&self, all: &[T]) -> T {
        all[self.below(all.len() as u64) as usize]
    }
}

/// Whether the world of this seed loses connections.
fn has_faults(seed: u64) -> bool {
    seed % 4 == 3
}

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

/// A target with its server, and whether the server answers badly on purpose.
fn parts(draw: &Draw<'_>, open: bool) -> (Target, Serve, bool) {
    let workers = 1 + draw.below(2) as usize;
    let reuse = draw.of(&[None, None, None, Some(1), Some(30)]);
    if draw.below(2) == 0 {
        let target = Target::Echo { address: address().into(), size: draw.of(&[1, 64, 64, 5000]), reuse };
        return (target, Serve::echo(draw.of(&["none", "none", "sleep=200us", "spin=20us"]), workers), false);
    }
    let pipeline = match open {
        true => draw.of(&[Pipeline::NONE, Pipeline::Single(4)]),
        false => draw.of(&[Pipeline::NONE, Pipeline::Batches(7)]),
    };
    let answer: fn(u64) -> Response = draw.of(&[
        (|_| reply()) as fn(u64) -> Response,
        |_| reply(),
        |n| Response { delay: (n % 7) as u32 * 30 * US, ..reply() },
        |n| Response { fault: (n % 50 == 49).then_some(Fault::Reset), ..reply() },
        |n| Response { fault: (n % 50 == 49).then_some(Fault::Truncate(2)), ..reply() },
    ]);
    let is_bad = (0..50).any(|number| answer(number).fault.is_some());
    (get(pipeline, reuse), serve(answer, workers), is_bad)
}

/// Runs a load and checks it; returns a digest of all that happened.
fn check(seed: u64) -> u64 {
    let world = World::with_settings(seed, settings(seed));
    let draw = Draw(&world);
    let threads = 1 + draw.below(2) as usize;
    let open = draw.below(2) == 0;
    let (target, server, is_bad) = parts(&draw, open);
    let (rate, duration) = draw.of(&[(2000.0, 250 * MS), (20_000.0, 25 * MS)]);
    let options = Options {
        threads: vec![None; threads],
        connections: threads + draw.below(8) as usize,
        requests: (!open).then_some(500),
        rate: open.then_some(rate),
        arrival: draw.of(&[Arrival::Constant, Arrival::Poisson]),
        duration: if open { duration } else { SECOND },
        warmup: draw.of(&[Duration::ZERO, Duration::ZERO, 5 * MS]),
        timeout: draw.of(&[5 * MS, 1000 * MS]),
        seed: draw.0.random(),
        ..options(target)
    };
    if draw.below(4) == 0 {
        world.pause(draw.below(30) as u32 * MS, draw.below(20) as u32 * MS);
    }
    if draw.below(4) == 0 {
        world.slow(Duration::ZERO, 20 * MS, 8);
    }
    match run(&world, &options, server) {
        Ok(run) => holds(&options, &run, has_faults(seed), is_bad),
        // With faults, the first connections may fail.
        Err(error) => assert!(has_faults(seed), "{error}"),
    }
    world.trace_digest()
}

fn holds(options: &Options, Run { report, server, .. }: &Run, has_faults: bool, is_bad: bool) {
    let (result, requests, errors) = (&report.result, &report.result.requests, &report.result.errors);
    let sum = |of: fn(&Second) -> u64| report.seconds.iter().map(of).sum::<u64>();
    let [sent, completed, failed] = [sum(|s| s.sent), sum(|s| s.completed), sum(|s| s.failed)];
    let what = || format!("{sent} sent, {completed} completed, {failed} failed, {requests:?} {errors:?} {server:?} {options:?}");
    // Nothing is lost: what was sent, or was due, has ended or was in flight at the end of the window.
    let ended = completed + failed + requests.unanswered;
    match options.rate {
        None => assert_eq!(sent, ended, "{}", what()),
        Some(_) => assert_eq!(sum(|s| s.offered.unwrap()), ended, "{}", what()),
    }
    // Each counts once.
    let warm = sum(|s| if s.warmup { s.completed + s.failed } else { 0 });
    assert_eq!(completed + failed - warm, requests.completed + requests.failed, "{}", what());
    assert!(options.requests.is_none_or(|limit| requests.completed + requests.failed <= limit), "{}", what());
    if !has_faults && !is_bad && errors.timeout == 0 {
        assert_eq!((errors.total(), server.failed, server.cut), (0, 0, 0), "{}", what());
        assert_eq!(server.accepted, result.connections.opened, "{}", what());
    }
    assert!(result.connections.peak <= options.connections as u64, "{}", what());
    let latency = &result.latency;
    if errors.total() == 0 && requests.unanswered == 0 {
        let figures = |summary: &brunt_results::LatencySummary| [summary.p50_us, summary.p99_us, summary.max_us];
        let pairs = figures(&latency.response).into_iter().zip(figures(&latency.service));
        pairs.for_each(|(response, service)| assert!(response >= service, "{latency:?}"));
    }
}

/// Resident memory of this process, in bytes.
fn resident() -> u64 {
    let pages: u64 = std::fs::read_to_string("/proc/self/statm").unwrap().split(' ').nth(1).unwrap().parse().unwrap();
    pages * 4096
}

fn number(name: &str) -> Option<u64> {
    env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{name} is '{text}', which is no number")))
}

fn try_seed(seed: u64) {
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        let digest = check(seed);
        // Chance must not be in.
        if seed % 50 == 0 {
            assert_eq!(check(seed), digest, "a second run of the seed is another run");
        }
    }));
    if let Err(panic) = outcome {
        eprintln!("to replay: BRUNT_SEED={seed} cargo test -p brunt --test sim properties");
        resume_unwind(panic);
    }
}

#[test]
fn nothing_is_lost_and_each_request_counts_once() {
    if let Some(seed) = number("BRUNT_SEED") {
        return try_seed(seed);
    }
    let seeds = number("BRUNT_SEEDS").unwrap_or(300);
    let halves = [0, 1].map(|half| {
        thread::spawn(move || {
            let mut settled = 0;
            for seed in (half..seeds).step_by(2) {
                try_seed(seed);
                if seed / 2 == 100 {
                    settled = resident();
                }
            }
            if seeds > 1000 {
                let grown = resident().saturating_sub(settled);
                assert!(grown < 64 << 20, "{grown} bytes more than after 100 seeds");
            }
        })
    });
    halves.into_iter().for_each(|half| half.join().unwrap_or_else(|panic| resume_unwind(panic)));
}
