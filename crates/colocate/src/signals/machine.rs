//! All signals but those of the service's requests.

use super::cpu::Cpu;
use super::lost::Lost;
use super::run_delay::RunDelay;
use super::service::Service;
use crate::cgroup::Group;
use crate::readings::Readings;
use brunt_meter::host::HostCpu;
use brunt_results::colocation;
use std::time::{Duration, Instant};

#[derive(Debug, Clone)]
pub struct Options {
    /// Time between two samples; between them readings age. Pauses are read in every tick.
    pub period: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self { period: Duration::from_millis(100) }
    }
}

#[derive(Debug)]
pub struct Machine {
    service: Service,
    /// Of the BE jobs.
    group: Group,
    options: Options,
    sampled: Option<Instant>,
    lost: Lost,
    run_delay: RunDelay,
    cpu: Cpu,
}

impl Machine {
    /// Begins to watch the machine; `group` is that of the BE jobs.
    pub fn open(service: Service, group: &Group, options: Options) -> Self {
        let lost = Lost::watch(service.pids().first().copied());
        let (run_delay, cpu) = (RunDelay::default(), Cpu::default());
        Self { service, group: group.clone(), options, sampled: None, lost, run_delay, cpu }
    }

    pub fn service(&self) -> &Service {
        &self.service
    }

    /// The newest readings, without those of requests. Cheap in most ticks; once in a period it samples.
    pub fn read(&mut self, now: Instant) -> Readings {
        self.lost.tick(now);
        if self.sampled.is_none_or(|last| now.saturating_duration_since(last) >= self.options.period) {
            self.sampled = Some(now);
            self.sample(now);
        }
        Readings {
            requests: None,
            run_delay: self.run_delay.reading(now),
            lost: self.lost.reading(now),
            lc_cpu: self.cpu.service.reading(now),
            be_cpu: self.cpu.jobs.reading(now),
            ..Readings::default()
        }
    }

    fn sample(&mut self, now: Instant) {
        self.service.refresh(now);
        let host = HostCpu::now();
        self.lost.sample(now, host);
        self.run_delay.sample(now, &self.service.pids());
        self.cpu.sample(now, &self.service, &self.group, host);
    }

    /// Means since it was opened.
    pub fn totals(&self) -> colocation::Machine {
        colocation::Machine {
            service_cores: self.cpu.service.mean(),
            job_cores: self.cpu.jobs.mean(),
            total_cores: self.cpu.all.mean(),
            lost: self.lost.mean(),
            ..colocation::Machine::default()
        }
    }
}
