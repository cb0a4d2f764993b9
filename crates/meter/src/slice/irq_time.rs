//! Interrupt time that a kernel with CONFIG_IRQ_TIME_ACCOUNTING takes out of the threads that were interrupted.
//!
//! Softirqs do the receive side of the network stack, a third of the cost of a small request. Other kernels bill them to the
//! running thread. `/proc/stat` has them in ticks of 10 ms: a difference is exact only over many slices.

use crate::host::HostCpu;
use crate::sampling_budget::SamplingBudget;
use std::{fs, io, path::Path, time::Duration};

/// Interrupt time of the cores of servers.
#[derive(Debug)]
pub struct IrqTime {
    cores: Vec<usize>,
    apart: bool,
    newest: Duration,
    budget: SamplingBudget,
}

impl IrqTime {
    pub fn attach(cores: &[usize]) -> Self {
        let apart = irq_time_accounting() == Some(true);
        let mut irq = Self { cores: cores.to_vec(), apart, newest: Duration::ZERO, budget: SamplingBudget::default() };
        irq.read();
        irq
    }

    /// Whether threads are billed without it.
    pub fn is_apart(&self) -> bool {
        self.apart
    }

    /// Time in interrupts and softirqs since boot, to be added to process clocks (not to the task clock, which contains it);
    /// always zero where the threads are billed for it.
    pub fn read(&mut self) -> Duration {
        if self.apart {
            let now = self.budget.take(|| HostCpu::of_cores(&self.cores, HostCpu::interrupts).0);
            self.newest = now.unwrap_or(self.newest).max(self.newest);
        }
        self.newest
    }
}

/// Whether the kernel accounts for interrupt time apart from threads; `None` if that cannot be known (no pressure files).
pub fn irq_time_accounting() -> Option<bool> {
    accounting_below(Path::new("/proc/pressure"))
}

/// The file `irq` exists only with the configuration, and can be read only if the accounting is switched on.
fn accounting_below(pressure: &Path) -> Option<bool> {
    match fs::read(pressure.join("irq")) {
        Ok(_) => Some(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => fs::read(pressure.join("cpu")).ok().map(|_| false),
        Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => Some(false),
        Err(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pressure_file_tells_and_time_is_zero_where_threads_are_billed() {
        let pressure = std::env::temp_dir().join(format!("brunt-pressure-{}", std::process::id()));
        assert_eq!(accounting_below(&pressure), None);
        fs::create_dir_all(&pressure).unwrap();
        fs::write(pressure.join("cpu"), "some avg10=0.00").unwrap();
        assert_eq!(accounting_below(&pressure), Some(false));
        fs::write(pressure.join("irq"), "full avg10=0.00").unwrap();
        assert_eq!(accounting_below(&pressure), Some(true));
        fs::remove_dir_all(&pressure).unwrap();

        let cores: Vec<usize> = (0..4096).collect();
        let mut irq = IrqTime::attach(&cores);
        let counted = irq.read();
        assert_eq!(irq.is_apart(), irq_time_accounting() == Some(true));
        assert_eq!(counted > Duration::ZERO, irq.is_apart(), "{counted:?}");
        irq.apart = true;
        irq.budget = SamplingBudget::default();
        let (direct, count) = HostCpu::of_cores(&cores, HostCpu::interrupts);
        assert!(count >= 1);
        assert!(irq.read() >= direct);
    }
}
