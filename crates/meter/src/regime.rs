//! Finds out what CPU time contains on this machine: a thread spins on one core and compares clock and account.

use crate::cpu_interference::spin;
use crate::host::HostCpu;
use crate::schedstat::scheduled;
use crate::slice::irq_time_accounting;
use crate::thread_cpu::thread_cpu;
use crate::{environment, per_core};
use brunt_results::regime::Regime;
use std::fs::{self, File};
use std::io;
use std::time::{Duration, Instant};

/// Shortest gap counted: shorter ones are ordinary interrupts.
const MIN_GAP: Duration = Duration::from_micros(30);
/// Part of the time in which the updates of the account are watched, which needs system calls.
const TICK_SHARE: u32 = 10;

/// What a thread saw that did nothing but read the clock.
#[derive(Debug, Default)]
struct Spin {
    wall: Duration,
    cpu: Duration,
    waited: Option<Duration>,
    stolen: Option<Duration>,
    gaps: Vec<Duration>,
    /// Times between updates of the account, without those in which the thread waited for a core.
    updates: Vec<Duration>,
}

/// Keeps this core, which must be allowed, busy for `time`.
pub fn measure(core: usize, time: Duration) -> io::Result<Regime> {
    let spun = per_core::on_each(&[core], || Ok(()), |()| Spin::on(core, time))?;
    let spun = spun.into_iter().next().unwrap_or_default();
    let clock_source = fs::read_to_string(environment::CLOCK_SOURCE).ok().map(|name| name.trim().to_owned());
    Ok(Regime { core, irq_time_accounting: irq_time_accounting(), clock_source, ..spun.regime() })
}

impl Spin {
    fn on(core: usize, time: Duration) -> io::Result<Self> {
        let schedstat = File::open("/proc/thread-self/schedstat").ok();
        let waited = || Some(scheduled(schedstat.as_ref()?)?.wait);
        let stolen =
            || Some(HostCpu::of_cores(&[core], HostCpu::stolen)).filter(|(_, cores)| *cores > 0).map(|(sum, _)| sum);
        let updates = updates(time / TICK_SHARE);
        let mut gaps = Vec::with_capacity(1024);
        let (stolen_before, waited_before, cpu_before) = (stolen(), waited(), thread_cpu());
        let wall = spin(time - time / TICK_SHARE, MIN_GAP, |gap| gaps.push(gap));
        let cpu = thread_cpu().saturating_sub(cpu_before);
        let since = |now: Option<Duration>, before: Option<Duration>| Some(now?.saturating_sub(before?));
        let (waited, stolen) = (since(waited(), waited_before), since(stolen(), stolen_before));
        Ok(Self { wall, cpu, waited, stolen, gaps, updates })
    }

    fn regime(&self) -> Regime {
        let percent = |part: Duration| 100.0 * part.as_secs_f64() / self.wall.as_secs_f64().max(1e-9);
        let unbilled = self.wall.saturating_sub(self.cpu + self.waited.unwrap_or_default());
        Regime {
            seconds: self.wall.as_secs_f64(),
            gaps: self.gaps.len() as u64,
            lost_percent: percent(self.gaps.iter().sum()),
            longest_gap_us: self.gaps.iter().max().map_or(0.0, |gap| gap.as_secs_f64() * 1e6),
            waited_percent: self.waited.map(percent),
            unbilled_percent: percent(unbilled),
            steal_percent: self.stolen.map(percent),
            tick_ms: self.tick().map(|tick| tick.as_secs_f64() * 1e3),
            ..Regime::default()
        }
    }

    /// The interval between updates in which a random moment lies, as a median: other threads that become runnable on the core
    /// cause updates in between.
    fn tick(&self) -> Option<Duration> {
        let mut updates = self.updates.clone();
        updates.sort();
        let half = updates.iter().sum::<Duration>() / 2;
        let mut sum = Duration::ZERO;
        updates.into_iter().find(|update| {
            sum += *update;
            sum > half
        })
    }
}

/// Times between updates of the calling thread's account, which is printed as it was at the last tick.
fn updates(time: Duration) -> Vec<Duration> {
    let Ok(schedstat) = File::open("/proc/thread-self/schedstat") else { return Vec::new() };
    let (begin, mut last) = (Instant::now(), scheduled(&schedstat));
    let (mut updates, mut updated) = (Vec::new(), None);
    while last.is_some() && begin.elapsed() < time {
        let now = scheduled(&schedstat);
        if now != last {
            let at = Instant::now();
            let waited = now.map(|now| now.wait) != last.map(|last| last.wait);
            updates.extend(updated.filter(|_| !waited).map(|before| at - before));
            (updated, last) = (Some(at), now);
        }
    }
    updates
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_billed_to_no_process_is_told_from_waiting() {
        let spin = Spin {
            wall: ms(1000),
            cpu: ms(960),
            waited: Some(ms(30)),
            stolen: Some(ms(10)),
            gaps: vec![ms(35), ms(5), ms(20)],
            updates: vec![ms(4), ms(1), ms(4), ms(1), ms(1), ms(1), ms(1), ms(8), ms(4)],
        };
        let regime = spin.regime();
        let close = |value: f64, truth: f64| assert!((value - truth).abs() < 1e-9, "{value}, not {truth}");
        close(regime.lost_percent, 6.0);
        close(regime.waited_percent.unwrap(), 3.0);
        close(regime.unbilled_percent, 1.0);
        close(regime.billed_percent(), 2.0);
        close(regime.steal_percent.unwrap(), 1.0);
        close(regime.tick_ms.unwrap(), 4.0);
        assert_eq!((regime.gaps, regime.longest_gap_us), (3, 35_000.0));
        // The two clocks are not read at the same instant.
        assert_eq!(Spin { cpu: ms(1001), ..spin }.regime().unbilled_percent, 0.0);
        assert_eq!(Spin::default().regime().tick_ms, None);
    }

    #[test]
    fn this_machine_has_a_regime() {
        let core = rustix::thread::sched_getcpu();
        let regime = measure(core, ms(200)).unwrap();
        println!("{regime}\n{regime:?}");
        assert!(regime.seconds >= 0.18 && regime.lost_percent <= 100.0 && regime.core == core, "{regime:?}");
        // At most 1000 Hz; other threads on this core cause more updates.
        assert!(regime.tick_ms.is_none_or(|tick| tick > 0.005), "{regime:?}");
        assert!(measure(10_000, ms(1)).is_err());
    }

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }
}
