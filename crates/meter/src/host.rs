//! Use of the host's processors, from `/proc/stat`: busy, stolen and softirq time.

mod frequency;
mod meter;
mod pressure;

pub use meter::{HostMeter, all_absent};

use std::fs;

/// CPU time since boot, in ticks, of all processors or of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostCpu {
    total: u64,
    idle: u64,
    softirq: u64,
    stolen: u64,
}

impl HostCpu {
    pub fn now() -> Option<Self> {
        Self::parse(&fs::read_to_string("/proc/stat").ok()?)
    }

    fn parse(text: &str) -> Option<Self> {
        Self::fields(text.lines().next()?.strip_prefix("cpu ")?)
    }

    /// The values of each online processor, with its number.
    fn cores(text: &str) -> Vec<(usize, Self)> {
        let lines = text.lines().skip(1).map_while(|line| line.strip_prefix("cpu"));
        let core = |line: &str| {
            let (number, fields) = line.split_once(' ')?;
            Some((number.parse().ok()?, Self::fields(fields)?))
        };
        lines.filter_map(core).collect()
    }

    fn fields(text: &str) -> Option<Self> {
        let fields: Vec<u64> = text.split_whitespace().map_while(|field| field.parse().ok()).collect();
        // user nice system idle iowait irq softirq steal; guest time follows and is included in user.
        let times = fields.get(..8)?;
        let total = times.iter().sum();
        Some(Self { total, idle: times[3] + times[4], softirq: times[6], stolen: times[7] })
    }

    /// CPU time stolen since `earlier`, in percent of all processors; `None` if no tick has passed.
    pub fn steal_percent_since(&self, earlier: &Self) -> Option<f64> {
        self.share_since(earlier, |ticks| ticks.stolen).map(|share| share * 100.0)
    }

    /// CPU time in softirqs since `earlier`, as a share of all processors, 0 to 1; `None` if no tick has passed.
    pub fn softirq_share_since(&self, earlier: &Self) -> Option<f64> {
        self.share_since(earlier, |ticks| ticks.softirq)
    }

    /// CPU time since `earlier` that was neither idle nor I/O wait, as a share of all processors, 0 to 1; `None` if no tick
    /// has passed.
    pub fn busy_share_since(&self, earlier: &Self) -> Option<f64> {
        self.share_since(earlier, |ticks| ticks.idle).map(|idle| 1.0 - idle)
    }

    fn share_since(&self, earlier: &Self, part: fn(&Self) -> u64) -> Option<f64> {
        let total = self.total.saturating_sub(earlier.total);
        // Idle and iowait may go back by a tick; a part must not exceed the total.
        let part = part(self).saturating_sub(part(earlier)).min(total);
        (total > 0).then(|| part as f64 / total as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_of_all_elapsed_time() {
        let first = HostCpu::parse("cpu  100 0 100 800 0 0 0 10 50 0\ncpu0 1 2\n").unwrap();
        let last = HostCpu::parse("cpu  130 0 90 850 0 0 20 20 70 0\n").unwrap();
        assert_eq!(last.steal_percent_since(&first), Some(10.0));
        assert_eq!(last.busy_share_since(&first), Some(0.5));
        assert_eq!(last.softirq_share_since(&first), Some(0.2));
        assert_eq!(first.busy_share_since(&first), None);
        assert_eq!(first.steal_percent_since(&first), None);
        for broken in ["", "cpu0 1 2 3", "cpu  1 2 3"] {
            assert_eq!(HostCpu::parse(broken), None, "{broken:?}");
        }
    }

    #[test]
    fn cores_keep_their_numbers_if_some_are_offline() {
        let text =
            "cpu  4 0 0 0 0 0 0 0\ncpu0 1 0 0 0 0 0 0 0 0 0\ncpu3 3 0 0 0 0 0 0 0 0 0\nintr 5\ncpu9 1 1 1 1 1 1 1 1\n";
        let cores = HostCpu::cores(text);
        assert_eq!(cores.iter().map(|(number, ticks)| (*number, ticks.total)).collect::<Vec<_>>(), [(0, 1), (3, 3)]);
    }

    #[test]
    fn this_host_can_be_read() {
        assert!(HostCpu::now().is_some());
    }
}
