//! What the CPU time of this machine contains: the account of a thread that spun on one core, compared with the clock.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Lost time, in percent, below which CPU time is taken as the program's own.
const NEGLIGIBLE_PERCENT: f64 = 0.1;

/// Percentages are of the time that the thread spun.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Regime {
    pub core: usize,
    pub seconds: f64,
    /// Gaps between two readings of the clock, of 30 us or more.
    pub gaps: u64,
    /// Time in those gaps.
    pub lost_percent: f64,
    pub longest_gap_us: f64,
    /// Time that the thread was runnable while others had the core; part of the gaps.
    pub waited_percent: Option<f64>,
    /// Time that the thread did not wait and was not billed for: what the kernel takes out of CPU time, as reported steal and,
    /// with interrupt time accounting, interrupts. The rest of the gaps is contained in CPU time.
    pub unbilled_percent: f64,
    /// Steal of the core that the hypervisor reported, in ticks of 10 ms.
    pub steal_percent: Option<f64>,
    /// Time between two updates of a running thread's account; absent if it was not updated (no tick on this core).
    pub tick_ms: Option<f64>,
    /// Whether interrupts are accounted for apart from threads (CONFIG_IRQ_TIME_ACCOUNTING).
    pub irq_time_accounting: Option<bool>,
    pub clock_source: Option<String>,
}

impl Regime {
    /// Time lost in gaps that is contained in CPU time, in percent.
    pub fn billed_percent(&self) -> f64 {
        (self.lost_percent - self.unbilled_percent - self.waited_percent.unwrap_or(0.0)).max(0.0)
    }
}

impl fmt::Display for Regime {
    /// For reports: one line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (lost, longest) = (self.lost_percent, self.longest_gap_us / 1e3);
        let (unbilled, waited) = (self.unbilled_percent, self.waited_percent.unwrap_or(0.0));
        let took = match self.billed_percent() {
            billed if billed >= NEGLIGIBLE_PERCENT && billed >= unbilled => "CPU time includes what the machine took",
            _ if unbilled >= NEGLIGIBLE_PERCENT => "CPU time leaves out what the machine took",
            _ => "CPU time is the program's own",
        };
        write!(f, "{took}: {lost:.1} % of {:.1} s of spinning was lost in gaps", self.seconds)?;
        if self.gaps > 0 {
            write!(f, " of up to {longest:.1} ms, {unbilled:.1} % left the account")?;
        }
        if waited >= NEGLIGIBLE_PERCENT {
            write!(f, ", {waited:.1} % went to other processes")?;
        }
        match self.irq_time_accounting {
            Some(true) => f.write_str("; interrupts are accounted for apart"),
            Some(false) => f.write_str("; interrupts are billed to the thread that they interrupt"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_says_where_lost_time_is_billed() {
        let mut regime = Regime { seconds: 1.0, ..Regime::default() };
        assert_eq!(regime.to_string(), "CPU time is the program's own: 0.0 % of 1.0 s of spinning was lost in gaps");
        (regime.gaps, regime.lost_percent, regime.longest_gap_us, regime.unbilled_percent) = (90, 3.1, 1500.0, 0.1);
        assert_eq!(
            regime.to_string(),
            "CPU time includes what the machine took: 3.1 % of 1.0 s of spinning was lost in gaps of up to 1.5 ms, \
             0.1 % left the account"
        );
        regime.unbilled_percent = 2.9;
        regime.irq_time_accounting = Some(true);
        let line = regime.to_string();
        assert!(
            line.starts_with("CPU time leaves out") && line.ends_with("interrupts are accounted for apart"),
            "{line}"
        );
        (regime.unbilled_percent, regime.waited_percent) = (0.0, Some(3.1));
        regime.irq_time_accounting = Some(false);
        let line = regime.to_string();
        assert!(line.starts_with("CPU time is the program's own"), "{line}");
        assert!(line.contains(", 3.1 % went to other processes; interrupts are billed"), "{line}");
        let json = serde_json::to_string(&regime).unwrap();
        assert_eq!(serde_json::from_str::<Regime>(&json).unwrap(), regime);
    }
}
