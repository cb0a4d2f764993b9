//! A world, a load and a server by seed: about 500 requests.

use crate::targets::{Seen, get, reply, serve};
use crate::worlds::{MS, SECOND, Serve, US, address, exact, options, run};
use brunt_load::http::Pipeline;
use brunt_load::{Arrival, Direct, Options, Target};
use brunt_runtime::sim::{Faults, Settings, World};
use brunt_serve::http::handler::{Fault, Response};
use brunt_spec::Spread;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// Requests of a closed loop.
pub const REQUESTS: u64 = 500;

/// Bytes of a request of [`get`] and of a [`reply`], as a load of one request counts them. Called before there is a world.
pub fn lengths() -> [u64; 2] {
    static LENGTHS: OnceLock<[u64; 2]> = OnceLock::new();
    *LENGTHS.get_or_init(|| {
        let options = Options { requests: Some(1), ..options(get(Pipeline::NONE, None)) };
        let bytes = run(&exact(), &options, serve(|_| reply(), 1).0).unwrap().report.result.bytes;
        [bytes.sent, bytes.received]
    })
}

/// What is drawn for a seed.
pub struct Case {
    pub options: Options,
    /// Requests in flight on a connection, at most.
    pub depth: u64,
    /// Requests of a connection, if that is limited.
    pub reuse: Option<u64>,
    /// Bytes of a request and of a reply, unless they differ.
    pub lengths: Option<[u64; 2]>,
    /// What the handlers see, of an HTTP server.
    pub seen: Option<Arc<Seen>>,
    /// Sends, connections and descriptors fail.
    pub has_faults: bool,
    /// The server answers some requests badly.
    pub is_bad: bool,
    /// The host pauses, or is slow for a while.
    pub is_disturbed: bool,
    /// Requests come one after another at equal intervals, and every service takes the same time.
    pub is_regular: bool,
}

/// What is drawn for a target.
struct Parts {
    target: Target,
    serve: Serve,
    depth: u64,
    reuse: Option<u64>,
    lengths: Option<[u64; 2]>,
    seen: Option<Arc<Seen>>,
    is_bad: bool,
    is_regular: bool,
}

pub fn settings(seed: u64) -> Settings {
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

impl Case {
    pub fn draw(seed: u64, world: &World) -> (Self, Serve) {
        let threads = 1 + world.below(2) as usize;
        let open = world.below(2) == 0;
        let parts = if world.below(2) == 0 { Parts::echo(world) } else { Parts::http(world, open) };
        let (rate, duration) = world.one_of(&[(2000.0, 250 * MS), (20_000.0, 25 * MS)]);
        let options = Options {
            threads: vec![None; threads],
            connections: threads + world.below(8) as usize,
            requests: (!open).then_some(REQUESTS),
            rate: open.then_some(rate),
            arrival: world.one_of(&[Arrival::Constant, Arrival::Poisson]),
            duration: if open { duration } else { SECOND },
            warmup: world.one_of(&[Duration::ZERO, Duration::ZERO, 5 * MS]),
            timeout: world.one_of(&[5 * MS, SECOND]),
            direct: Direct {
                spread: world.one_of(&[None, Some(Spread::Turns), Some(Spread::Turns)]).filter(|_| open),
                ..Direct::default()
            },
            seed: world.random(),
            ..options(parts.target)
        };
        let (pauses, slows) = (world.below(4) == 0, world.below(4) == 0);
        if pauses {
            world.pause(world.below(30) as u32 * MS, world.below(20) as u32 * MS);
        }
        if slows {
            world.slow(Duration::ZERO, 20 * MS, 8);
        }
        let Parts { serve, depth, reuse, lengths, seen, is_bad, .. } = parts;
        let (has_faults, is_disturbed) = (seed % 4 == 3, pauses || slows);
        let evenly = options.arrival == Arrival::Constant && threads == 1;
        let is_regular = parts.is_regular && evenly && seed.is_multiple_of(4) && !is_disturbed;
        (Self { options, depth, reuse, lengths, seen, has_faults, is_bad, is_disturbed, is_regular }, serve)
    }

    /// Nothing may go wrong here.
    pub fn is_calm(&self) -> bool {
        !self.has_faults && !self.is_bad && !self.is_disturbed
    }
}

impl Parts {
    fn echo(world: &World) -> Self {
        let size = world.one_of(&[1, 64, 64, 5000]);
        let reuse = world.one_of(&[None, None, None, Some(1), Some(30)]);
        let work = world.one_of(&["none", "none", "sleep=200us", "spin=20us"]);
        Self {
            target: Target::Echo { address: address().into(), size, reuse },
            serve: Serve::echo(work, 1 + world.below(2) as usize),
            depth: 1,
            reuse,
            lengths: Some([size as u64; 2]),
            seen: None,
            is_bad: false,
            is_regular: reuse.is_none() && !work.starts_with("spin"),
        }
    }

    fn http(world: &World, open: bool) -> Self {
        let pipeline = match (world.below(2), open) {
            (0, _) => Pipeline::NONE,
            (_, true) => Pipeline::Single(4),
            (_, false) => Pipeline::Batches(7),
        };
        let (Pipeline::Batches(depth) | Pipeline::Single(depth)) = pipeline;
        let reuse = world.one_of(&[None, None, None, Some(1), Some(30)]).map(|batches| batches * u64::from(depth));
        let answer: fn(u64) -> Response = world.one_of(&[
            (|_| reply()) as fn(u64) -> Response,
            |_| reply(),
            |n| Response { delay: (n % 7) as u32 * 30 * US, ..reply() },
            |n| Response { fault: (n % 50 == 49).then_some(Fault::Reset), ..reply() },
            |n| Response { fault: (n % 50 == 49).then_some(Fault::Truncate(2)), ..reply() },
        ]);
        let is_bad = (0..50).any(|number| answer(number).fault.is_some());
        let is_delayed = (0..50).any(|number| !answer(number).delay.is_zero());
        let target = get(pipeline, reuse);
        let (serve, seen) = serve(answer, 1 + world.below(2) as usize);
        Self {
            // The last request of a connection and its reply say so, and are longer.
            lengths: reuse.is_none().then(lengths),
            is_regular: reuse.is_none() && depth == 1 && !is_bad && !is_delayed,
            depth: depth.into(),
            reuse,
            seen: Some(seen),
            target,
            serve,
            is_bad,
        }
    }
}
