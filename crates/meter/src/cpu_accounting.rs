//! How long a window must be for what other processes, or the machine, used in it.
//!
//! The kernel accounts a running thread at each tick of its scheduler (`update_curr` in kernel/sched/fair.c), so a thread that
//! runs at both ends of a window may have up to a tick more or less than it used. Reading all accounts takes some milliseconds
//! too, in which the load goes on: a count of a shorter window may be that of another one, or zero.

use rustix::time::{ClockId, clock_getres};
use std::time::Duration;

/// Ticks of a window, at least: one at each end is then a tenth.
const TICKS: u32 = 20;

/// Length of a scheduler tick, which is the resolution of the coarse clock (`CONFIG_HZ`).
fn tick() -> Duration {
    let resolution = clock_getres(ClockId::MonotonicCoarse);
    Duration::new(resolution.tv_sec.unsigned_abs(), u32::try_from(resolution.tv_nsec).unwrap_or_default())
}

/// Why a window of that length has no figures of what others used in it; `None` if it is long enough.
pub(crate) fn too_short(window: Duration) -> Option<String> {
    let (tick, least) = (tick(), tick() * TICKS);
    (window < least).then(|| {
        format!(
            "the window took {:.1} ms, and the kernel accounts every {} ms: make it {} ms or longer, with -d or more requests",
            window.as_secs_f64() * 1e3,
            tick.as_millis(),
            least.as_millis()
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_is_long_enough_from_twenty_ticks_on() {
        let tick = tick();
        assert!((Duration::from_millis(1)..=Duration::from_millis(10)).contains(&tick), "{tick:?}");
        let least = tick * TICKS;
        assert_eq!(too_short(least), None);
        let why = too_short(least - Duration::from_nanos(1)).unwrap();
        assert!(why.contains(&format!("make it {} ms", least.as_millis())), "{why}");
    }
}
