//! Checks by seed, hundreds at a time: one that fails prints the command that runs it alone.
//!
//! `BRUNT_SEED=7` tries this seed, `BRUNT_SEEDS=10000` so many. With `--nocapture` either prints a digest, which is equal for two
//! builds in which everything happens alike.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::{env, fs, thread};

/// Seeds tried until memory counts as settled, in each half.
const SETTLED: u64 = 100;
/// Growth of memory after that, at most, in bytes.
const GROWTH: u64 = 64 << 20;
/// With no more seeds, memory decides nothing: other tests of the process, which run beside these, take some too.
const MEMORY: u64 = 1000;

/// The whole number in an environment variable, if it is set.
pub fn number(name: &str) -> Option<u64> {
    env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{name} is '{text}', which is no number")))
}

/// Checks `usual` seeds, or those of the environment, half of them on a thread of its own. `check` returns a digest of all that
/// happened, and every 50th seed is tried twice, which must be equal. `test` is what `cargo test` needs to find the check.
pub fn each_seed(test: &str, usual: u64, check: impl Fn(u64) -> u64 + Sync) {
    if let Some(seed) = number("BRUNT_SEED") {
        return println!("seed {seed}: digest {:016x}", try_seed(test, seed, &check));
    }
    let seeds = number("BRUNT_SEEDS").unwrap_or(usual);
    println!("{seeds} seeds: digest {:016x}", try_all(test, seeds, &check));
}

/// Returns the sum of the digests.
fn try_all(test: &str, seeds: u64, check: &(impl Fn(u64) -> u64 + Sync)) -> u64 {
    let failed = AtomicBool::new(false);
    thread::scope(|scope| {
        let halves = [0, 1].map(|first| {
            let failed = &failed;
            scope.spawn(move || try_half(test, first, seeds, failed, check))
        });
        let sums = halves.map(|half| half.join().unwrap_or_else(|panic| resume_unwind(panic)));
        sums[0].wrapping_add(sums[1])
    })
}

/// Tries every second seed from `first` on, until the other half has failed.
fn try_half(test: &str, first: u64, seeds: u64, failed: &AtomicBool, check: &impl Fn(u64) -> u64) -> u64 {
    let _fails = OnPanic(failed);
    let (mut settled, mut sum) = (0, 0u64);
    for seed in (first..seeds).step_by(2) {
        if failed.load(Relaxed) {
            return 0;
        }
        sum = sum.wrapping_add(try_seed(test, seed, check));
        if seed / 2 == SETTLED {
            settled = resident();
        }
    }
    if seeds > MEMORY {
        let grown = resident().saturating_sub(settled);
        assert!(grown < GROWTH, "{grown} bytes more than after {SETTLED} seeds");
    }
    sum
}

/// Returns the digest of the seed.
fn try_seed(test: &str, seed: u64, check: &impl Fn(u64) -> u64) -> u64 {
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        let digest = check(seed);
        if seed.is_multiple_of(50) {
            assert_eq!(check(seed), digest, "a second run of the seed is another run");
        }
        digest
    }));
    outcome.unwrap_or_else(|panic| {
        let line = format!("to replay: BRUNT_SEED={seed} cargo test --workspace {test}\n");
        eprint!("{line}");
        resume_unwind(panic)
    })
}

/// Resident memory of this process, in bytes.
fn resident() -> u64 {
    let statm = fs::read_to_string("/proc/self/statm").unwrap();
    let pages: u64 = statm.split(' ').nth(1).unwrap().parse().unwrap();
    pages * 4096
}

struct OnPanic<'f>(&'f AtomicBool);

impl Drop for OnPanic<'_> {
    fn drop(&mut self) {
        self.0.fetch_or(thread::panicking(), Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    #[test]
    fn every_seed_is_tried_and_every_50th_twice() {
        let tried = Mutex::new(Vec::new());
        let check = |seed| {
            tried.lock().unwrap().push(seed);
            seed
        };
        assert_eq!(try_all("", 101, &check), (0..101).sum());
        let mut tried = tried.into_inner().unwrap();
        tried.sort_unstable();
        let mut expected: Vec<u64> = (0..101).chain([0, 50, 100]).collect();
        expected.sort_unstable();
        assert_eq!(tried, expected);
    }

    #[test]
    fn a_seed_that_fails_or_varies_fails_the_check() {
        assert!(catch_unwind(|| try_all("", 10, &|seed| if seed == 7 { panic!("on purpose") } else { seed })).is_err());
        let runs = AtomicBool::new(false);
        let varies = |_| u64::from(runs.fetch_xor(true, Relaxed));
        assert!(catch_unwind(AssertUnwindSafe(|| try_seed("", 50, &varies))).is_err());
    }
}
