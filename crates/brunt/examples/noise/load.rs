//! Loops on random cores, in spells.

use crate::random::Random;
use brunt_results::Cores;
use brunt_runtime::group::pin_to_core;
use std::hint::black_box;
use std::time::{Duration, Instant};
use std::{fs, thread};

/// Threads of a spell. Beside one busy thread of others they get four fifths of a core.
const THREADS: u32 = 4;
/// In each of these periods a spell works for its share.
const PERIOD: Duration = Duration::from_millis(20);
/// Larger than the last-level caches of one core's share.
const STREAMED: usize = 64 << 20;

/// Work of about 50 us.
type Work = fn(&mut Vec<u64>);

/// What a spell does.
#[derive(Clone, Copy)]
pub struct Kind {
    work: Work,
    threads: u32,
    /// Least and largest share of a period.
    share: (f64, f64),
    bytes: usize,
}

/// With a whole core idle, 25 to 100 % of it; of a busy one, four fifths of that.
pub fn spin() -> Kind {
    let work: Work = |_| {
        (0..20_000).for_each(|i: u32| {
            black_box(i);
        });
    };
    Kind { work, threads: THREADS, share: (0.25, 1.0), bytes: 0 }
}

pub fn stream() -> Kind {
    let work: Work = |memory| {
        // The next part of it: the position is its first word.
        let start = memory[0] as usize;
        let end = (start + (256 << 10) / 8).min(memory.len());
        memory[start.max(1)..end].iter_mut().for_each(|word| *word = word.wrapping_add(1));
        memory[0] = if end == memory.len() { 0 } else { end as u64 };
    };
    Kind { work, threads: 1, share: (0.3, 0.7), bytes: STREAMED }
}

/// Starts the spells, for the rest of the process, on cores that the process may use.
pub fn start(mut random: Random, kind: Kind) {
    let cores = allowed_cores();
    thread::spawn(move || {
        loop {
            thread::sleep(random.time(0, 1_000));
            let (core, share) = (random.pick(&cores), random.within(kind.share.0, kind.share.1));
            let end = Instant::now() + random.time(100, 3_000);
            thread::scope(|scope| {
                (0..kind.threads).for_each(|_| drop(scope.spawn(move || spell(kind, core, share, end))))
            });
        }
    });
}

/// One thread of a spell. Threads of the same spell work at the same time.
fn spell(kind: Kind, core: usize, share: f64, end: Instant) {
    // Without the right to, it runs anywhere.
    let _ = pin_to_core(core);
    let mut memory = vec![0; kind.bytes / 8];
    while Instant::now() < end {
        let start = Instant::now();
        while start.elapsed() < PERIOD.mul_f64(share) {
            (kind.work)(&mut memory);
        }
        thread::sleep(PERIOD.saturating_sub(start.elapsed()));
    }
}

fn allowed_cores() -> Vec<usize> {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    list.and_then(|list| list.trim().parse::<Cores>().ok())
        .map_or_else(|| vec![0], |cores| cores.0.into_iter().collect())
}
