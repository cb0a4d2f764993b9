//! The controller of Heracles (Lo et al., ISCA 2015, sections 4.2 and 4.3): three loops with their own periods.
//!
//! | loop | every | does |
//! |---|---|---|
//! | top | 15 s | ends BE jobs' time where the latency or the load is too high, and says whether they may grow |
//! | cores and memory | 2 s | takes cores where memory bandwidth is near its peak, else adds cache or cores |
//! | network | 1 s | bounds what BE jobs send by what the LC service leaves of the link |
//!
//! Differences: the paper predicts the service's memory bandwidth from an offline model, here it is measured with the BE jobs
//! running; whether jobs benefit from cache is not asked, since their rates are not comparable; there is no power loop. As in
//! every policy here, data of the service that are missing or old mean the floor, then a freeze.

use super::{Decision, Policy, Reason, staleness};
use crate::allotment::{Allotment, Bounds};
use crate::objective::Objective;
use crate::readings::{Reading, Readings, Requests};
use serde::{Deserialize, Serialize};
use std::time::Duration;

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    pub objective: Objective,
    pub bounds: Bounds,
    /// Periods of the loops.
    pub top: Duration,
    pub cores: Duration,
    pub network: Duration,
    /// Time without BE jobs after the objective was missed.
    pub cooldown: Duration,
    /// Polls in a row that must find it missed.
    pub confirmations: u32,
    /// Load of the LC service above which BE jobs end, and below which they begin again.
    pub disable_load: f64,
    pub enable_load: f64,
    /// Slack below which BE jobs do not grow, and below which cores are taken from them.
    pub growth_slack: f64,
    pub removal_slack: f64,
    /// Cores taken at low slack; all but two without it.
    pub removal: Option<f64>,
    /// Share of the peak of memory bandwidth above which cores are taken.
    pub bandwidth_limit: f64,
    /// Cores added at once.
    pub core_step: f64,
    /// Share of the cache added at once, where it can be partitioned.
    pub cache_step: Option<f64>,
    /// Bytes a second of the network link, where BE jobs use it.
    pub link: Option<f64>,
}

/// Cores and share of the cache with which BE jobs begin.
const FIRST_CORES: f64 = 1.0;
const FIRST_CACHE: f64 = 0.1;

/// Cores that low slack leaves without `removal`.
const KEPT_CORES: f64 = 2.0;

impl Settings {
    /// The paper's figures.
    pub fn paper(objective: Objective, bounds: Bounds) -> Self {
        Self {
            objective,
            bounds,
            top: Duration::from_secs(15),
            cores: Duration::from_secs(2),
            network: Duration::from_secs(1),
            cooldown: Duration::from_secs(300),
            confirmations: 1,
            disable_load: 0.85,
            enable_load: 0.80,
            growth_slack: 0.10,
            removal_slack: 0.05,
            removal: None,
            bandwidth_limit: 0.9,
            core_step: 1.0,
            cache_step: None,
            link: None,
        }
    }

    /// The same with its periods divided by `speed`, for services and runs too short for the paper's.
    pub fn at_speed(self, speed: f64) -> Self {
        let [top, cores, network, cooldown] =
            [self.top, self.cores, self.network, self.cooldown].map(|period| period.div_f64(speed));
        Self { top, cores, network, cooldown, ..self }
    }

    /// The periods of a public re-implementation, github.com/Pacific73/Heracles. At the latencies of its published tables jobs would
    /// never grow with the 40 % of slack of its configuration: here it is 25 %. Its limit of memory bandwidth is a constant of one machine, and does not act here.
    pub fn prototype(objective: Objective, bounds: Bounds) -> Self {
        Self {
            top: Duration::from_secs(10),
            cores: Duration::from_secs(5),
            network: Duration::from_secs(2),
            cooldown: Duration::from_secs(5),
            confirmations: 2,
            enable_load: 0.70,
            growth_slack: 0.25,
            removal_slack: 0.20,
            removal: Some(1.0),
            bandwidth_limit: 1.0,
            ..Self::paper(objective, bounds)
        }
    }
}

/// The resource to grow next, one at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Growing {
    Cache,
    Cores,
}

#[derive(Debug, Clone)]
pub struct Heracles {
    settings: Settings,
    /// `None` while BE jobs are not to run.
    allotment: Option<Allotment>,
    reason: Reason,
    may_grow: bool,
    misses: u32,
    cooldown_end: Duration,
    growing: Growing,
    /// Memory bandwidth before the last growth of the cache.
    bandwidth_before: Option<f64>,
    next_top: Duration,
    next_cores: Duration,
    next_network: Duration,
}

impl Heracles {
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            allotment: None,
            reason: Reason::Hold,
            may_grow: false,
            misses: 0,
            cooldown_end: Duration::ZERO,
            growing: if settings.cache_step.is_some() { Growing::Cache } else { Growing::Cores },
            bandwidth_before: None,
            next_top: Duration::ZERO,
            next_cores: Duration::ZERO,
            next_network: Duration::ZERO,
        }
    }

    fn disable(&mut self, reason: Reason) {
        self.allotment = None;
        self.may_grow = false;
        self.reason = reason;
    }

    fn top(&mut self, now: Duration, requests: Requests) {
        let Settings { objective, bounds, .. } = self.settings;
        let slack = objective.slack(requests.latency_ms);
        if slack < 0.0 {
            self.misses += 1;
            self.may_grow = false;
            if self.misses >= self.settings.confirmations {
                self.cooldown_end = now + self.settings.cooldown;
                self.disable(Reason::Emergency);
            }
            return;
        }
        self.misses = 0;
        if requests.load.is_some_and(|load| load > self.settings.disable_load) {
            return self.disable(Reason::HighLoad);
        }
        let may_begin = requests.load.is_none_or(|load| load < self.settings.enable_load);
        if self.allotment.is_none() && may_begin && now >= self.cooldown_end {
            let cores = FIRST_CORES.clamp(bounds.floor, bounds.ceiling);
            self.allotment =
                Some(Allotment { cache: self.settings.cache_step.map(|_| FIRST_CACHE), ..Allotment::cores(cores) });
            self.reason = Reason::Grow;
        }
        self.may_grow = self.allotment.is_some() && slack >= self.settings.growth_slack;
        if slack < self.settings.removal_slack {
            self.take(
                |cores, settings| settings.removal.map_or(cores.min(KEPT_CORES), |removal| cores - removal),
                Reason::Shrink,
            );
        }
    }

    /// Takes cores, down to the floor.
    fn take(&mut self, left: impl Fn(f64, &Settings) -> f64, reason: Reason) {
        if let Some(allotment) = &mut self.allotment {
            allotment.cores = left(allotment.cores, &self.settings).max(self.settings.bounds.floor);
            self.reason = reason;
        }
    }

    fn cores_and_memory(&mut self, readings: &Readings) {
        let Some(allotment) = self.allotment else { return };
        let (total, of_jobs) = (value(readings.memory_bandwidth), value(readings.be_memory_bandwidth));
        let per_core = of_jobs.map(|of_jobs| of_jobs / allotment.cores.max(self.settings.bounds.floor));
        let over = total.map(|total| total - self.settings.bandwidth_limit).filter(|over| *over > 0.0);
        if let Some(over) = over {
            let surplus = per_core.filter(|per_core| *per_core > 0.0).map_or(1.0, |per_core| over / per_core);
            return self.take(|cores, _| cores - surplus, Reason::MemoryBandwidth);
        }
        if !self.may_grow {
            self.reason = Reason::Hold;
            return;
        }
        match self.growing {
            Growing::Cache => self.grow_cache(total),
            Growing::Cores => self.grow_cores(total, per_core),
        }
    }

    /// Adds cache, and takes it back at the next poll if memory bandwidth did not fall.
    fn grow_cache(&mut self, total: Option<f64>) {
        let (Some(step), Some(allotment)) = (self.settings.cache_step, &mut self.allotment) else { return };
        let cache = allotment.cache.get_or_insert(FIRST_CACHE);
        match self.bandwidth_before.take() {
            Some(before) if total.is_none_or(|total| total >= before) => {
                *cache = (*cache - step).max(FIRST_CACHE);
                self.growing = Growing::Cores;
            }
            _ if *cache + step < 1.0 => {
                *cache += step;
                self.bandwidth_before = total;
            }
            _ => self.growing = Growing::Cores,
        }
        self.reason = Reason::Grow;
    }

    fn grow_cores(&mut self, total: Option<f64>, per_core: Option<f64>) {
        let Settings { bandwidth_limit, core_step, bounds, .. } = self.settings;
        let fits = total.zip(per_core).is_none_or(|(total, per_core)| total + per_core * core_step <= bandwidth_limit);
        let Some(allotment) = &mut self.allotment else { return };
        self.reason = if !fits {
            Reason::MemoryBandwidth
        } else if allotment.cores >= bounds.ceiling {
            Reason::Ceiling
        } else {
            Reason::Grow
        };
        match self.reason {
            Reason::Grow => allotment.cores = (allotment.cores + core_step).min(bounds.ceiling),
            _ if self.settings.cache_step.is_some() => self.growing = Growing::Cache,
            _ => {}
        }
    }

    fn network(&mut self, of_service: Option<f64>) {
        if let (Some(link), Some(of_service), Some(allotment)) = (self.settings.link, of_service, &mut self.allotment) {
            allotment.network = Some((link - of_service - (0.05 * link).max(0.10 * of_service)).max(0.0) as u64);
        }
    }
}

fn value(reading: Option<Reading<f64>>) -> Option<f64> {
    reading.map(|reading| reading.value)
}

impl Policy for Heracles {
    fn decide(&mut self, now: Duration, readings: &Readings) -> Decision {
        if let Some(reason) = staleness(now, readings, self.settings.bounds.deadline) {
            self.disable(reason);
            let cores = if reason == Reason::Lost { 0.0 } else { self.settings.bounds.floor };
            return Decision { allotment: Allotment::cores(cores), reason };
        }
        if let Some(requests) = readings.requests.filter(|_| now >= self.next_top) {
            self.next_top = now + self.settings.top;
            self.top(now, requests.value);
        }
        if now >= self.next_cores {
            self.next_cores = now + self.settings.cores;
            self.cores_and_memory(readings);
        }
        if now >= self.next_network {
            self.next_network = now + self.settings.network;
            self.network(value(readings.lc_network));
        }
        Decision { allotment: self.allotment.unwrap_or(Allotment::FROZEN), reason: self.reason }
    }
}

#[cfg(test)]
mod tests;
