//! What the memory of this machine can move, and the bytes that it moves for a cache miss: measured by streams on all cores.

use brunt_colocate::signals::CacheMisses;
use brunt_meter::affinity;
use brunt_results::{Cores, Error, Size};
use brunt_stress::memory::{self, Kernel};
use brunt_stress::{Dose, Event, Options, Stop, Work};
use serde::Serialize;
use std::time::Duration;

const TIME: Duration = Duration::from_secs(1);
const MIB: u64 = 1 << 20;

#[derive(Debug, Serialize)]
pub(super) struct Memory {
    /// Bytes a second, as STREAM counts them.
    peak: u64,
    bytes_per_miss: Option<f64>,
    /// Why that is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
}

impl Memory {
    pub(super) fn measure() -> Result<Self, Error> {
        let cores = affinity::allowed()?;
        let options = Options {
            work: Work::Memory(memory::Options { size: None, kernel: Kernel::Triad }),
            threads: Some(cores.len() as u64),
            cores: Some(Cores(cores)),
            duration: Some(TIME),
            dose: Dose::Full,
        };
        let (mut misses, mut before) = (CacheMisses::of_machine(), Err("nothing was counted".to_owned()));
        let mut observe = |event: Event<'_>| {
            if let Event::Begins { .. } = event {
                before = total(&mut misses);
            }
        };
        let moved = brunt_stress::run(&options, &Stop::new(), &mut observe);
        let moved = moved.map_err(|error| Error::Failed(format!("--memory: {error}")))?;
        let after = total(&mut misses);
        let missed = before.and_then(|before| Ok(after? - before)).and_then(|missed| match missed > 0.0 {
            true => Ok(missed),
            false => Err("the counter of cache misses stands still".to_owned()),
        });
        let (bytes_per_miss, why) = match missed {
            Ok(missed) => (Some(moved.done as f64 / missed), None),
            Err(why) => (None, Some(why)),
        };
        Ok(Self { peak: moved.rate_per_s as u64, bytes_per_miss, why })
    }

    /// Lines of a plan.
    pub(super) fn text(&self) -> String {
        let peak = Size((self.peak / MIB).max(1) * MIB);
        let misses = match (&self.bytes_per_miss, &self.why) {
            (Some(bytes), _) => format!("memory_bytes_per_miss = {bytes:.1}"),
            (None, why) => format!("# memory_bytes_per_miss: {}", why.as_deref().unwrap_or("unknown")),
        };
        format!("memory_peak = \"{peak}\"\n{misses}\n")
    }
}

fn total(misses: &mut Result<CacheMisses, String>) -> Result<f64, String> {
    misses.as_mut().map_err(|why| why.clone()).and_then(CacheMisses::total)
}
