//! What goes wrong in a simulation without any job's doing: deployments, bursts of load, sources that are silent.

use serde::{Deserialize, Serialize};

/// A restart without an answer, and the time after it in which the service is slower, in seconds.
const RESTART: f64 = 1.0;
const COLD: f64 = 3.0;
const COLD_SLOWDOWN: f64 = 1.5;
/// A burst of load, and what it adds of the peak.
const BURST: f64 = 5.0;
const BURST_LOAD: f64 = 1.5;
/// A source without reports.
const SILENCE: f64 = 30.0;

/// Seconds from one to the next; 0: never.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Trouble {
    pub deploys: f64,
    pub bursts: f64,
    pub silences: f64,
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
        }
    }
}
