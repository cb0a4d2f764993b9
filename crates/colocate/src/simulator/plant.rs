//! The machine in short steps: a queue that BE jobs slow down.

use super::chance::Chance;
use super::job::Job;
use crate::allotment::Allotment;
use serde::{Deserialize, Serialize};

/// Latencies at which the tail of the response times is kept, as shares of the objective's limit.
pub const GRID: [f64; 16] = [0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0, 1.2, 1.5, 2.5, 5.0];

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    pub cores: f64,
    /// Share of the memory bandwidth at which waiting for memory grows.
    pub knee: f64,
    /// Pauses of the whole machine a second, and their mean length in milliseconds.
    pub pauses: f64,
    pub pause_ms: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Service {
    /// Requests a second at its peak: the highest load at which it meets its objective alone.
    pub peak_rate: f64,
    /// Part of its capacity that its peak is.
    pub peak_utilization: f64,
    /// Cores that it uses at its peak.
    pub peak_cores: f64,
    /// Mean time to serve a request, and the part of the response time that does not queue.
    pub service_ms: f64,
    pub fixed_ms: f64,
    /// Share of the machine's memory bandwidth at its peak.
    pub memory_bandwidth: f64,
    /// Slowdown by a cache that is all displaced, and by a machine's memory bandwidth used up.
    pub cache_slowdown: f64,
    pub memory_slowdown: f64,
}

/// What the kernel's scheduler gives a process that waits for a core of others, in milliseconds.
const TIME_SLICE_MS: f64 = 3.0;

/// Slowdown where jobs of the idle class fill all cores: waking up takes longer, caches are cold.
const IDLE_CLASS_SLOWDOWN: f64 = 0.05;

/// Rise of the slowdown above the knee, relative to that below it.
const BEYOND_KNEE: f64 = 160.0;

/// What happened in one step.
#[derive(Debug, Clone, Copy, Default)]
pub struct Step {
    pub arrivals: u64,
    pub slow: u64,
    /// Of the slow ones, failed at once.
    pub failed: u64,
    /// Expected requests above each latency of the grid.
    pub above: [f64; GRID.len()],
    /// Share of the step that a pause took.
    pub lost: f64,
    pub lc_cores: f64,
    pub be_cores: f64,
    /// Work of the BE jobs in seconds of a core with memory for itself alone.
    pub be_work: f64,
    /// Shares of the memory bandwidth; 1 is its peak.
    pub memory_bandwidth: f64,
    pub be_memory_bandwidth: f64,
}

impl Step {
    /// A part of the requests waits for the end of a stall, longer than the limit.
    pub fn of_stall(self, part: f64) -> Self {
        let stalled = self.arrivals as f64 * part;
        let above =
            std::array::from_fn(
                |index| if GRID[index] < 2.0 { self.above[index].max(stalled) } else { self.above[index] },
            );
        Self { slow: self.slow.max(stalled as u64), above, ..self }
    }

    /// The same without a service: each request is slow, or fails at once.
    pub fn of_no_service(self, refuses: bool) -> Self {
        let (slow, failed) = (self.arrivals, if refuses { self.arrivals } else { 0 });
        Self { slow, failed, above: [self.arrivals as f64; GRID.len()], lc_cores: 0.0, ..self }
    }
}

#[derive(Debug, Clone)]
pub struct Plant {
    machine: Machine,
    service: Service,
    job: Job,
    limit_ms: f64,
    chance: Chance,
    /// Requests that wait, and the rest of a pause in milliseconds.
    queue: f64,
    pause: f64,
}

impl Plant {
    pub fn new(machine: Machine, service: Service, job: Job, limit_ms: f64, seed: u64) -> Self {
        Self { machine, service, job, limit_ms, chance: Chance::new(seed), queue: 0.0, pause: 0.0 }
    }

    /// From now on jobs are of this kind.
    pub fn run(&mut self, job: Job) {
        self.job = job;
    }

    /// `slowdown` is that of the service itself, whatever the jobs do.
    pub fn step(&mut self, seconds: f64, load: f64, allotment: Allotment, (idle_class, slowdown): (bool, f64)) -> Step {
        let (machine, service) = (self.machine, self.service);
        let lost = self.pause(seconds);
        let wanted = allotment.cores.min(machine.cores);
        let be_cores = self.left(load, wanted, idle_class);
        let slowdown = slowdown * self.slowdown(load, be_cores, idle_class);
        let rate = service.peak_rate * load;
        let capacity = service.peak_rate / (service.peak_utilization * slowdown);
        let arrivals = self.chance.poisson(rate * seconds);
        self.queue = (self.queue + arrivals as f64 - capacity * seconds * (1.0 - lost)).max(0.0);
        let wait_ms = 1000.0 * self.queue / capacity + self.pause;
        let for_core_ms = if idle_class { 0.0 } else { TIME_SLICE_MS * be_cores / machine.cores };
        let fixed_ms = service.fixed_ms + wait_ms + for_core_ms;
        let mean_ms = service.service_ms * slowdown / (1.0 - (rate / capacity).min(0.98));
        // A request that arrives in a pause waits for its end: half of the pause in the mean.
        let undisturbed = |ms: f64| (-(ms - fixed_ms).max(0.0) / mean_ms).exp();
        let in_pause_ms = lost * seconds * 500.0;
        let tail = |ms: f64| match lost {
            // Of most steps.
            0.0 => undisturbed(ms),
            _ => (1.0 - lost) * undisturbed(ms) + lost * undisturbed(ms - in_pause_ms),
        };
        let slow = self.chance.binomial(arrivals, tail(self.limit_ms));
        let be_memory_bandwidth = be_cores * self.job.memory_bandwidth;
        let memory_bandwidth = be_memory_bandwidth + load * service.memory_bandwidth;
        Step {
            arrivals,
            slow,
            failed: 0,
            above: GRID.map(|part| arrivals as f64 * tail(part * self.limit_ms)),
            lost,
            lc_cores: self.of_service(load, slowdown),
            be_cores,
            be_work: be_cores * seconds * (1.0 - lost) / memory_bandwidth.max(1.0),
            memory_bandwidth: memory_bandwidth.min(1.0),
            be_memory_bandwidth: be_memory_bandwidth.min(1.0),
        }
    }

    /// Cores that jobs get. What the service leaves depends on how much they slow it down: bisection.
    fn left(&self, load: f64, wanted: f64, idle_class: bool) -> f64 {
        let cores = self.machine.cores;
        let of_service = |be_cores| self.of_service(load, self.slowdown(load, be_cores, idle_class));
        let least = if idle_class { 0.0 } else { cores / 2.0 };
        let fits = |be_cores: f64| be_cores <= (cores - of_service(be_cores)).max(least);
        if fits(wanted) {
            return wanted;
        }
        let (mut low, mut high) = (0.0, wanted);
        for _ in 0..20 {
            let middle = (low + high) / 2.0;
            if fits(middle) { low = middle } else { high = middle }
        }
        low
    }

    /// Cores of the service.
    fn of_service(&self, load: f64, slowdown: f64) -> f64 {
        (self.service.peak_cores * load * slowdown).min(self.machine.cores)
    }

    /// Factor by which BE jobs lengthen the service's times.
    fn slowdown(&self, load: f64, be_cores: f64, idle_class: bool) -> f64 {
        let (machine, service) = (self.machine, self.service);
        let cache = service.cache_slowdown * (be_cores * self.job.cache).min(1.0);
        let of_jobs = be_cores * self.job.memory_bandwidth;
        let used = of_jobs + load * service.memory_bandwidth;
        let beyond = BEYOND_KNEE * (used - machine.knee).max(0.0).min(used - load * service.memory_bandwidth);
        let memory = service.memory_slowdown * (of_jobs + beyond);
        let cores = be_cores / machine.cores * if idle_class { IDLE_CLASS_SLOWDOWN } else { 1.0 };
        1.0 + cache + memory + cores
    }

    /// Share of a step that pauses take. A pause goes on in the steps that follow.
    fn pause(&mut self, seconds: f64) -> f64 {
        if self.chance.uniform() < self.machine.pauses * seconds {
            self.pause += self.chance.exponential(self.machine.pause_ms);
        }
        let taken = self.pause.min(seconds * 1000.0);
        self.pause -= taken;
        taken / (seconds * 1000.0)
    }
}

#[cfg(test)]
mod tests {
    use super::super::preset;
    use super::*;

    /// Share of slow requests in a minute, and work done.
    fn minute(load: f64, allotment: Allotment, job: Job, idle_class: bool) -> (f64, f64) {
        let (machine, service, objective) = preset::server();
        let mut plant = Plant::new(machine, service, job, objective.limit_ms, 1);
        let steps: Vec<Step> = (0..3000).map(|_| plant.step(0.02, load, allotment, (idle_class, 1.0))).collect();
        let sum = |of: fn(&Step) -> f64| steps.iter().map(of).sum::<f64>();
        (sum(|step| step.slow as f64) / sum(|step| step.arrivals as f64), sum(|step| step.be_work))
    }

    #[test]
    fn the_service_alone_meets_its_objective_up_to_its_peak() {
        for load in [0.1, 0.5, 1.0] {
            assert!(minute(load, Allotment::FROZEN, Job::CPU, true).0 < 0.01, "{load}");
        }
        assert!(minute(2.5, Allotment::FROZEN, Job::CPU, true).0 > 0.5);
    }

    #[test]
    fn more_cores_for_jobs_never_make_the_service_faster_and_memory_jobs_have_a_knee() {
        for job in [Job::CPU, Job::CACHE, Job::MEMORY] {
            let shares: Vec<f64> =
                (0..=8).map(|cores| minute(0.6, Allotment::cores(f64::from(cores)), job, true).0).collect();
            assert!(shares.windows(2).all(|pair| pair[1] >= pair[0] - 0.001), "{shares:?}");
        }
        let slow = |cores| minute(0.6, Allotment::cores(cores), Job::MEMORY, true).0;
        assert!(slow(5.0) < 0.005 && slow(7.0) > 0.05);
        // Without the idle class jobs that only compute disturb as well.
        assert!(minute(0.9, Allotment::cores(8.0), Job::CPU, false).0 > 0.02);
        assert!(minute(0.9, Allotment::cores(8.0), Job::CPU, true).0 < 0.01);
    }
}
