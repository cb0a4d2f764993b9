//! What the kernel tells of the whole machine: processor time, pressure, frequency.

mod meter;
mod slabs;

pub use meter::{HostMeter, all_absent};

use crate::proc;
use std::{fs, path::Path, time::Duration};

/// CPU time since boot, in ticks, of all processors or of one, from `/proc/stat`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostCpu {
    total: u64,
    idle: u64,
    irq: u64,
    softirq: u64,
    stolen: u64,
}

impl HostCpu {
    pub fn now() -> Option<Self> {
        Self::parse(&proc::text("/proc/stat").ok()?)
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
        Some(Self { total, idle: times[3] + times[4], irq: times[5], softirq: times[6], stolen: times[7] })
    }

    /// Since boot, of the listed processors, as a sum, with the number of those that are online.
    pub(crate) fn of_cores(cores: &[usize], part: fn(&Self) -> Duration) -> (Duration, u32) {
        let text = fs::read_to_string("/proc/stat").unwrap_or_default();
        let parts = Self::cores(&text).into_iter().filter(|(core, _)| cores.contains(core));
        parts.fold((Duration::ZERO, 0), |(sum, count), (_, times)| (sum + part(&times), count + 1))
    }

    /// Time in interrupts and softirqs.
    pub(crate) fn interrupts(&self) -> Duration {
        Duration::from_nanos((self.irq + self.softirq) * proc::tick_ns())
    }

    /// Time in which processors ran processes or interrupts.
    pub fn used(&self) -> Duration {
        let ticks = self.total.saturating_sub(self.idle).saturating_sub(self.stolen);
        Duration::from_nanos(ticks * proc::tick_ns())
    }

    /// Time stolen by the hypervisor.
    pub(crate) fn stolen(&self) -> Duration {
        Duration::from_nanos(self.stolen * proc::tick_ns())
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

/// Resources with pressure stall information (Documentation/accounting/psi.rst), by file name below `/proc/pressure`.
const RESOURCES: [&str; 3] = ["cpu", "memory", "io"];

/// Time in which at least one task waited for the resource, since boot, in microseconds; `None` without CONFIG_PSI.
fn pressure_us(resource: &str) -> Option<u64> {
    some_us(&proc::text(format!("/proc/pressure/{resource}")).ok()?)
}

/// Time in which at least one task waited for processor, memory and I/O, since boot; `None` without CONFIG_PSI.
pub fn pressure() -> Option<[Duration; 3]> {
    let [cpu, memory, io] = RESOURCES.map(|resource| pressure_us(resource).map(Duration::from_micros));
    Some([cpu?, memory?, io?])
}

fn some_us(text: &str) -> Option<u64> {
    let some = text.lines().find_map(|line| line.strip_prefix("some "))?;
    some.split(' ').find_map(|word| word.strip_prefix("total="))?.parse().ok()
}

const CPUS: &str = "/sys/devices/system/cpu";

/// The current frequency, in MHz, as a mean over the processors below `cpus`; `None` if none reports it, as on most virtual
/// machines.
fn mean_mhz(cpus: &Path) -> Option<f64> {
    let khz = |entry: fs::DirEntry| -> Option<f64> {
        fs::read_to_string(entry.path().join("cpufreq/scaling_cur_freq")).ok()?.trim().parse().ok()
    };
    let all: Vec<f64> = fs::read_dir(cpus).ok()?.flatten().filter_map(khz).collect();
    (!all.is_empty()).then(|| all.iter().sum::<f64>() / all.len() as f64 / 1000.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_of_all_elapsed_time_and_offline_cores_keep_their_numbers() {
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
        let text =
            "cpu  4 0 0 0 0 0 0 0\ncpu0 1 0 0 0 0 0 0 0 0 0\ncpu3 3 0 0 0 0 0 0 0 0 0\nintr 5\ncpu9 1 1 1 1 1 1 1 1\n";
        let cores = HostCpu::cores(text);
        assert_eq!(cores.iter().map(|(number, ticks)| (*number, ticks.total)).collect::<Vec<_>>(), [(0, 1), (3, 3)]);
        assert!(HostCpu::now().is_some());
    }

    #[test]
    fn pressure_is_the_total_of_some_and_frequency_the_mean_in_megahertz() {
        let text = "some avg10=39.93 avg60=11.04 avg300=6.45 total=11167974409\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=7\n";
        assert_eq!(some_us(text), Some(11_167_974_409));
        assert_eq!(some_us("full avg10=0.00 total=7\n"), None);
        assert_eq!(some_us(""), None);
        assert_eq!(pressure_us("nothing"), None);
        let home = std::env::temp_dir().join(format!("brunt-frequency-{}", std::process::id()));
        assert_eq!(mean_mhz(&home), None);
        for (cpu, khz) in [("cpu0", "2000000\n"), ("cpu1", "3000000\n")] {
            fs::create_dir_all(home.join(cpu).join("cpufreq")).unwrap();
            fs::write(home.join(cpu).join("cpufreq/scaling_cur_freq"), khz).unwrap();
        }
        fs::create_dir_all(home.join("cpuidle")).unwrap();
        assert_eq!(mean_mhz(&home), Some(2500.0));
        fs::remove_dir_all(&home).unwrap();
    }
}
