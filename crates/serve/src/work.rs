//! Simulated work per request, the same for every server model; independent of sockets.

use brunt_results::Span;
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::hint::{self, black_box};
use std::sync::OnceLock;
use std::time::{Duration, Instant};
use std::{fmt, io::Write, str::FromStr, thread};

/// Work done before each response.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Work {
    /// None: I/O only.
    #[default]
    None,
    /// Sleeps, as if waiting for a disk or another service.
    Sleep(Duration),
    /// Computes for this much CPU time.
    Spin(Duration),
    /// Finds the first number n for which SHA-256 of `hello world n` has this many leading zero bits. The cost is fixed but not
    /// 2^bits: 12 bits take 5 hashes, 13 take 6483, 16 take 24365.
    Sha256(u32),
}

impl Work {
    /// Longest sleep or computation. A server sees its stop only between two of them.
    const LONGEST: Duration = Duration::from_secs(10);
    /// Most bits; three million hashes.
    const MOST_BITS: u32 = 24;

    /// Does the work on the calling thread, sleeping included.
    pub(crate) fn block(self) {
        match self {
            Self::Sleep(time) => thread::sleep(time),
            other => other.compute(),
        }
    }

    /// The time to sleep, for models that can sleep without blocking a thread; other work goes to
    /// [`compute`](Self::compute).
    pub(crate) fn pause(self) -> Option<Duration> {
        match self {
            Self::Sleep(time) => Some(time),
            _ => None,
        }
    }

    pub(crate) fn compute(self) {
        match self {
            Self::None | Self::Sleep(_) => {}
            Self::Spin(time) => spin(time),
            Self::Sha256(bits) => {
                black_box(proof(bits));
            }
        }
    }
}

/// Spins for CPU time, not wall time: a preempted thread does not work.
fn spin(time: Duration) {
    #[cfg(feature = "sim")]
    if brunt_runtime::sim::is_active() {
        return brunt_runtime::sim::spend(time);
    }
    // One reading here and one at the end are work too.
    match time.checked_sub(2 * reading()) {
        None => pass(time),
        Some(time) => {
            let end = cpu_time_of_thread() + time;
            pass(time);
            spin_until(end);
        }
    }
}

/// CPU time of the calling thread.
pub(crate) fn cpu_time_of_thread() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap_or_default()
}

/// What a reading of it takes at least: it is a system call of some hundred nanoseconds.
fn reading() -> Duration {
    static READING: OnceLock<Duration> = OnceLock::new();
    let measured = || {
        let readings: [Duration; 200] = std::array::from_fn(|_| cpu_time_of_thread());
        readings.windows(2).map(|two| two[1].saturating_sub(two[0])).min().unwrap_or_default()
    };
    *READING.get_or_init(measured)
}

/// Spins until the CPU time of the calling thread is `end`.
pub(crate) fn spin_until(end: Duration) {
    while let Some(left) = end.checked_sub(cpu_time_of_thread()).filter(|left| !left.is_zero()) {
        pass(left);
    }
}

/// Spins for wall time, which is read without a system call.
fn pass(time: Duration) {
    let begin = Instant::now();
    while begin.elapsed() < time {
        hint::spin_loop();
    }
}

/// The first number whose hash has this many leading zero bits.
fn proof(bits: u32) -> u64 {
    let mut text = Vec::with_capacity(32);
    let mut zeros = |number: u64| {
        text.clear();
        // Writing to memory cannot fail.
        let _ = write!(text, "hello world {number}");
        let digest = Sha256::digest(&text);
        u64::from_be_bytes(std::array::from_fn(|i| digest[i])).leading_zeros()
    };
    (0..).find(|number| zeros(*number) >= bits).unwrap_or_default()
}

impl fmt::Display for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::Sleep(time) => write!(f, "sleep={}", Span(*time)),
            Self::Spin(time) => write!(f, "spin={}", Span(*time)),
            Self::Sha256(bits) => write!(f, "sha256={bits}"),
        }
    }
}

impl FromStr for Work {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let time = |value: &str| -> Result<Duration, String> {
            let Span(time) = value.parse().map_err(|error: brunt_results::UnitError| error.to_string())?;
            match time {
                Duration::ZERO => Err(format!("'{text}' is no work; none is the word for it")),
                time if time > Self::LONGEST => {
                    Err(format!("'{text}' would keep a server from its end; give at most {}", Span(Self::LONGEST)))
                }
                time => Ok(time),
            }
        };
        // Plans use the colon: values of an axis cannot hold an equals sign.
        match text.split_once(['=', ':']) {
            None if text == "none" => Ok(Self::None),
            Some(("sleep", value)) => Ok(Self::Sleep(time(value)?)),
            Some(("spin", value)) => Ok(Self::Spin(time(value)?)),
            Some(("sha256", value)) => match value.parse() {
                Ok(bits @ 1..=Self::MOST_BITS) => Ok(Self::Sha256(bits)),
                _ => Err(format!("'{value}' is not a number of zero bits from 1 to {}", Self::MOST_BITS)),
            },
            _ => Err(format!("'{text}' is no work; write none, sleep=10ms, spin=50us or sha256=12")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The numbers are those that Python's hashlib finds.
    #[test]
    fn the_proof_is_the_first_number_with_enough_zero_bits() {
        for (bits, number) in [(1, 0), (3, 1), (12, 4), (13, 6482), (14, 10_277), (16, 24_364)] {
            assert_eq!(proof(bits), number, "{bits} bits");
        }
    }

    #[test]
    fn spinning_takes_processor_time_and_only_sleep_is_a_pause() {
        let used = || Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap();
        let before = used();
        Work::Spin(Duration::from_millis(5)).block();
        assert!(used() - before >= Duration::from_millis(5));
        // Readings of the time are a part of it. A busy machine makes some groups slower, and none faster than they should be.
        let short = Duration::from_micros(20);
        let group = || {
            let before = used();
            (0..50).for_each(|_| Work::Spin(short).block());
            (used() - before) / 50
        };
        let least = (0..101).map(|_| group()).min().unwrap();
        assert!((least.as_secs_f64() / short.as_secs_f64() - 1.0).abs() < 0.03, "{least:?}");
        let time = Duration::from_millis(3);
        assert_eq!((Work::Sleep(time).pause(), Work::Spin(time).pause()), (Some(time), None));
    }

    #[test]
    fn a_colon_is_accepted_for_plans_and_invalid_work_refused_with_a_remedy() {
        assert_eq!("sleep:10ms".parse(), Ok(Work::Sleep(Duration::from_millis(10))));
        assert_eq!("sha256:12".parse(), Ok(Work::Sha256(12)));
        for (text, says) in [
            ("", "write none, sleep=10ms"),
            ("slep=10ms", "'slep=10ms' is no work"),
            ("sleep", "write none"),
            ("none=1", "write none"),
            ("sleep=10", "is not a time such as"),
            ("sleep=0", "none is the word"),
            ("spin=11s", "at most 10s"),
            ("sha256=0", "from 1 to 24"),
            ("sha256=25", "from 1 to 24"),
            ("sha256=twelve", "from 1 to 24"),
        ] {
            let said = text.parse::<Work>().unwrap_err();
            assert!(said.contains(says) && said.lines().count() == 1, "{text}: {said}");
        }
    }

    proptest! {
        #[test]
        fn printed_work_parses(which in 0usize..4, micros in 1u64..10_000_000, bits in 1u32..=24) {
            let time = Duration::from_micros(micros);
            let work = [Work::None, Work::Sleep(time), Work::Spin(time), Work::Sha256(bits)][which];
            prop_assert_eq!(work.to_string().parse::<Work>(), Ok(work));
        }

        #[test]
        fn no_text_panics(text in "(none|sleep|spin|sha256)?[=:]?\\PC{0,12}") {
            let _ = text.parse::<Work>();
        }
    }
}
