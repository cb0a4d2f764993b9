//! Time that a busy core loses: gaps seen by a thread that only reads the clock. The cause (a hypervisor that reports no steal
//! time, a quota, another process, an interrupt) would interrupt a server as well.

use crate::per_core;
use std::io;
use std::time::{Duration, Instant};

/// Shortest gap counted: shorter ones are ordinary interrupts.
const MIN_GAP: Duration = Duration::from_micros(50);

/// The figures of the core that lost most.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct CpuInterference {
    /// Time lost, in percent.
    pub percent: f64,
    pub longest: Duration,
}

/// Keeps these cores, which must be allowed, busy at once for `time`.
pub fn measure(cores: &[usize], time: Duration) -> io::Result<CpuInterference> {
    let each = per_core::on_each(cores, || Ok(()), |()| Ok(while_busy(time)))?;
    Ok(each.into_iter().fold(CpuInterference::default(), |worst, lost| CpuInterference {
        percent: worst.percent.max(lost.percent),
        longest: worst.longest.max(lost.longest),
    }))
}

fn while_busy(time: Duration) -> CpuInterference {
    let (mut sum, mut longest) = (Duration::ZERO, Duration::ZERO);
    let wall = spin(time, MIN_GAP, |gap| {
        sum += gap;
        longest = longest.max(gap);
    });
    CpuInterference { percent: 100.0 * sum.as_secs_f64() / wall.as_secs_f64(), longest }
}

/// Reads the clock again and again for `time`; passes on each gap of at least `min_gap`. Returns how long it took.
pub(crate) fn spin(time: Duration, min_gap: Duration, mut on_gap: impl FnMut(Duration)) -> Duration {
    let begin = Instant::now();
    let mut last = begin;
    while last - begin < time {
        let now = Instant::now();
        let gap = now - last;
        if gap >= min_gap {
            on_gap(gap);
        }
        last = now;
    }
    last - begin
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_threads_on_one_core_lose_half_of_it_each() {
        let core = rustix::thread::sched_getcpu();
        let time = Duration::from_millis(100);
        brunt_testkit::judge("two threads on a core lose more of it than one", || {
            brunt_testkit::at_most(5, 0.8, || {
                let (alone, shared) = (measure(&[core], time).unwrap(), measure(&[core, core], time).unwrap());
                assert!(shared.percent <= 100.0 && shared.longest >= MIN_GAP, "{shared:?}");
                (alone.percent, shared.percent)
            })
        });
        assert!(measure(&[core, 1000], Duration::from_millis(1)).is_err());
    }
}
