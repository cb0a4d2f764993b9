//! What a busy core loses: a thread that only reads the clock, and the moments in which it could not. Whoever took them
//! (a hypervisor that counts no stolen time, a quota, another process, an interrupt), a server would have lost them too.

use crate::per_core;
use std::{
    io,
    time::{Duration, Instant},
};

/// Anything shorter is an interrupt, and everybody has those.
const SHORTEST: Duration = Duration::from_micros(50);

/// Of the core that lost most.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct CpuInterference {
    /// Time that was lost, in percent.
    pub percent: f64,
    /// The longest moment.
    pub longest: Duration,
}

/// Keeps these cores busy at once, for so long.
///
/// # Errors
/// One of the cores is not there or not allowed.
pub fn measure(cores: &[usize], time: Duration) -> io::Result<CpuInterference> {
    let each = per_core::on_each(cores, || Ok(()), |()| Ok(while_busy(time)))?;
    Ok(each.into_iter().fold(CpuInterference::default(), |worst, lost| CpuInterference {
        percent: worst.percent.max(lost.percent),
        longest: worst.longest.max(lost.longest),
    }))
}

fn while_busy(time: Duration) -> CpuInterference {
    let begin = Instant::now();
    let (mut last, mut sum, mut longest) = (begin, Duration::ZERO, Duration::ZERO);
    while last - begin < time {
        let now = Instant::now();
        let gap = now - last;
        if gap >= SHORTEST {
            sum += gap;
            longest = longest.max(gap);
        }
        last = now;
    }
    CpuInterference { percent: 100.0 * sum.as_secs_f64() / (last - begin).as_secs_f64(), longest }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_core_that_is_shared_loses_what_the_other_takes() {
        let core = rustix::thread::sched_getcpu();
        // Two threads on one core: each loses about half, whatever else the machine does.
        let shared = measure(&[core, core], Duration::from_millis(300)).unwrap();
        assert!(shared.percent > 25.0 && shared.percent <= 100.0, "{shared:?}");
        assert!(shared.longest >= SHORTEST, "{shared:?}");
        assert!(measure(&[core, 1000], Duration::from_millis(1)).is_err());
    }
}
