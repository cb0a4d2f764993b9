//! What is known of the machine, the LC service and the BE jobs when a policy decides.

use serde::{Deserialize, Serialize};
use std::time::Instant;

/// A figure with its age. A figure that cannot be had is no reading at all (`Option`), never zero.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Reading<T> {
    pub value: T,
    /// Seconds since the end of the window that the figure describes; a little below zero if it came after the tick began.
    pub age: f64,
}

/// Requests of the LC service in a window. Each counts once: when it ends, or in flight when it becomes slow. A service that
/// answers nothing therefore is slow, not idle.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Requests {
    /// Length of the window in seconds.
    pub seconds: f64,
    pub count: u64,
    /// Of these, slower than the objective's limit, or failed.
    pub slow: u64,
    /// Of the slow ones, failed within the limit: refused, or answered by an error.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub failed: u64,
    /// Quantile of the objective over the window's response times, in milliseconds.
    pub latency_ms: f64,
    /// Offered to the service in a second, as a share of its peak; `None` if the peak is unknown.
    pub load: Option<f64>,
}

/// Share of a window in which at least one process waited for the resource: `some` of pressure stall information.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Pressure {
    pub cpu: f64,
    pub memory: f64,
    pub io: f64,
}

/// Kinds of jobs, each by its number in the order in which they first ran. From the 64th on they are one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kinds(u64);

impl Kinds {
    #[must_use]
    pub fn with(self, number: usize) -> Self {
        Self(self.0 | 1 << number.min(63))
    }

    pub fn has(self, number: usize) -> bool {
        self.0 & 1 << number.min(63) != 0
    }

    pub fn is_empty(&self) -> bool {
        self.0 == 0
    }
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl Requests {
    /// Requests a second.
    pub fn rate(self) -> f64 {
        self.count as f64 / self.seconds.max(f64::MIN_POSITIVE)
    }
}

/// Tells a new window from the one before: sources repeat a reading until they have the next.
#[derive(Debug, Clone, Copy, Default)]
pub struct Newest(Option<f64>);

/// Seconds. Ages are rounded by some sources; windows are at least this far apart.
pub(crate) const RESOLUTION: f64 = 0.001;

impl Newest {
    /// The end of the window, in seconds since the start, if it is new; `now` counts from there too.
    pub fn end<T>(&mut self, now: f64, reading: &Reading<T>) -> Option<f64> {
        let end = now - reading.age;
        if self.0.is_some_and(|last| end < last + RESOLUTION) {
            return None;
        }
        self.0 = Some(end);
        self.0
    }
}

/// Readings of one tick. Shares are 0 to 1.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Readings {
    pub requests: Option<Reading<Requests>>,
    /// Share of the window in which a thread of the LC service was runnable and waited for a core: the longest of its threads.
    pub run_delay: Option<Reading<f64>>,
    /// Cycles for each instruction of the LC service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpi: Option<Reading<f64>>,
    /// Share of the window that the machine took from all processes: steal and pauses. Not the doing of BE jobs.
    pub lost: Option<Reading<f64>>,
    /// CPU time of the LC service, in cores.
    pub lc_cpu: Option<Reading<f64>>,
    /// CPU time of the BE jobs, in cores.
    pub be_cpu: Option<Reading<f64>>,
    /// Memory bandwidth of the machine, as a share of its measured peak.
    pub memory_bandwidth: Option<Reading<f64>>,
    /// The part of it used by BE jobs.
    pub be_memory_bandwidth: Option<Reading<f64>>,
    /// Bytes a second that the LC service sends, and that BE jobs send.
    pub lc_network: Option<Reading<f64>>,
    pub be_network: Option<Reading<f64>>,
    /// Pressure on the whole machine, and among the BE jobs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pressure: Option<Reading<Pressure>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub be_pressure: Option<Reading<Pressure>>,
    /// Kinds of the jobs that run.
    #[serde(default, skip_serializing_if = "Kinds::is_empty")]
    pub kinds: Kinds,
}

/// Up to these shares of cores, of memory bandwidth and of a window, and to this many bytes a second, jobs use nothing.
const IDLE: f64 = 0.02;
const IDLE_BYTES: f64 = 100e3;

fn is_above(reading: Option<Reading<f64>>, limit: f64) -> bool {
    reading.is_some_and(|reading| reading.value >= limit)
}

impl Readings {
    /// Whether the BE jobs certainly used no CPU, and no memory bandwidth, disk or network as far as that is known.
    pub fn are_jobs_idle(&self) -> bool {
        self.be_cpu.is_some_and(|cores| cores.value < IDLE)
            && !is_above(self.be_memory_bandwidth, IDLE)
            && !is_above(self.be_network, IDLE_BYTES)
            && self.be_pressure.is_none_or(|pressure| pressure.value.io < IDLE)
    }

    /// Whether the service certainly used no CPU, and waited for none as far as that is known.
    pub fn is_service_idle(&self) -> bool {
        self.lc_cpu.is_some_and(|cores| cores.value < IDLE) && !is_above(self.run_delay, IDLE)
    }

    /// The same, so many seconds later.
    pub fn aged(self, seconds: f64) -> Self {
        let older = |reading: Option<Reading<f64>>| reading.map(|reading| reading.aged(seconds));
        Self {
            requests: self.requests.map(|reading| reading.aged(seconds)),
            run_delay: older(self.run_delay),
            cpi: older(self.cpi),
            lost: older(self.lost),
            lc_cpu: older(self.lc_cpu),
            be_cpu: older(self.be_cpu),
            memory_bandwidth: older(self.memory_bandwidth),
            be_memory_bandwidth: older(self.be_memory_bandwidth),
            lc_network: older(self.lc_network),
            be_network: older(self.be_network),
            pressure: self.pressure.map(|reading| reading.aged(seconds)),
            be_pressure: self.be_pressure.map(|reading| reading.aged(seconds)),
            kinds: self.kinds,
        }
    }
}

impl<T> Reading<T> {
    /// Of a window that ended then.
    pub fn until(end: Instant, value: T, now: Instant) -> Self {
        Self { value, age: now.saturating_duration_since(end).as_secs_f64() }
    }

    fn aged(self, seconds: f64) -> Self {
        Self { age: self.age + seconds, ..self }
    }
}
