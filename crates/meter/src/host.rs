//! What the processors of the host did: time stolen by the hypervisor and time in use, from the first line of `/proc/stat`.

use std::fs;

/// CPU time of all processors since boot, in ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostCpu {
    total: u64,
    idle: u64,
    stolen: u64,
}

impl HostCpu {
    /// Reads it now; absent where `/proc/stat` has no such line.
    pub fn now() -> Option<Self> {
        Self::parse(&fs::read_to_string("/proc/stat").ok()?)
    }

    fn parse(text: &str) -> Option<Self> {
        let fields = text.lines().next()?.strip_prefix("cpu ")?;
        let fields: Vec<u64> = fields.split_whitespace().map_while(|field| field.parse().ok()).collect();
        // user nice system idle iowait irq softirq steal; guest time follows and is part of user already.
        let times = fields.get(..8)?;
        Some(Self { total: times.iter().sum(), idle: times[3] + times[4], stolen: times[7] })
    }

    /// CPU time stolen since `earlier`, in percent of all processors; absent when no tick has passed.
    pub fn steal_percent_since(&self, earlier: &Self) -> Option<f64> {
        let total = self.total.saturating_sub(earlier.total);
        // Idle and iowait may step back by a tick; stolen time may not exceed what passed.
        let stolen = self.stolen.saturating_sub(earlier.stolen).min(total);
        (total > 0).then(|| stolen as f64 / total as f64 * 100.0)
    }

    /// CPU time since `earlier` that was neither idle nor waiting for a disk, as a share of all processors, 0 to 1; absent
    /// when no tick has passed.
    pub fn busy_share_since(&self, earlier: &Self) -> Option<f64> {
        let total = self.total.saturating_sub(earlier.total);
        let idle = self.idle.saturating_sub(earlier.idle);
        (total > 0).then(|| (1.0 - idle as f64 / total as f64).max(0.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steal_is_a_share_of_all_time_that_passed() {
        let first = HostCpu::parse("cpu  100 0 100 800 0 0 0 10 50 0\ncpu0 1 2\n").unwrap();
        let last = HostCpu::parse("cpu  130 0 110 850 0 0 0 20 70 0\n").unwrap();
        assert_eq!(last.steal_percent_since(&first), Some(10.0));
        assert_eq!(last.busy_share_since(&first), Some(0.5));
        assert_eq!(first.busy_share_since(&first), None);
        assert_eq!(first.steal_percent_since(&first), None);
        for broken in ["", "cpu0 1 2 3", "cpu  1 2 3"] {
            assert_eq!(HostCpu::parse(broken), None, "{broken:?}");
        }
    }

    #[test]
    fn this_host_can_be_read() {
        assert!(HostCpu::now().is_some());
    }
}
