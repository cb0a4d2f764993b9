//! What goes wrong in a simulation without any job's doing: deployments, bursts of load, sources that are silent, stalls.

use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Period of the controller's ticks, and of the simulated steps.
pub const TICK: Duration = Duration::from_millis(20);

/// A restart without an answer, and the time after it in which the service is slower, in seconds.
const RESTART: f64 = 1.0;
const COLD: f64 = 3.0;
const COLD_SLOWDOWN: f64 = 1.5;
/// A burst of load, and what it adds of the peak.
const BURST: f64 = 5.0;
const BURST_LOAD: f64 = 1.5;
/// A source without reports.
const SILENCE: f64 = 30.0;
/// A stall that no signal shows: share of the requests that wait for its end, in each of two ticks.
const STALLED: [f64; 2] = [0.5, 0.25];

/// Seconds from one to the next; 0: never.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Trouble {
    pub deploys: f64,
    pub bursts: f64,
    pub silences: f64,
    pub stalls: f64,
    /// Whether requests to a service that is down fail at once; otherwise they wait for it.
    pub refuses: bool,
}

/// A moment of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Moment {
    pub is_down: bool,
    /// Factor of the service's times.
    pub slowdown: f64,
    /// Load on top, as a share of the peak.
    pub load: f64,
    pub is_silent: bool,
    /// Share of the requests that a stall makes slow.
    pub stalled: f64,
}

impl Trouble {
    /// At so many seconds after the start.
    pub fn at(&self, seconds: f64) -> Moment {
        // The first of each comes half a period after the start.
        let since = |every: f64| if every > 0.0 { (seconds + every / 2.0) % every } else { f64::INFINITY };
        let deployed = since(self.deploys);
        Moment {
            is_down: deployed < RESTART,
            slowdown: if deployed < RESTART + COLD { COLD_SLOWDOWN } else { 1.0 },
            load: if since(self.bursts) < BURST { BURST_LOAD } else { 0.0 },
            is_silent: since(self.silences) < SILENCE,
            stalled: self.stalled(seconds),
        }
    }

    /// A stall comes once in its period, each time at another part of its first half.
    fn stalled(&self, seconds: f64) -> f64 {
        if self.stalls <= 0.0 {
            return 0.0;
        }
        let number = (seconds / self.stalls).floor();
        let begin = (number + (number * 0.618_034).fract() / 2.0) * self.stalls;
        let tick = ((seconds - begin) / TICK.as_secs_f64() + 0.5).floor();
        if tick < 0.0 { 0.0 } else { STALLED.get(tick as usize).copied().unwrap_or(0.0) }
    }
}
