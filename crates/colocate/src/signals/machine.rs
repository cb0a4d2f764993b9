//! All signals but those of the service's requests.

use super::cpi::Cpi;
use super::cpu::Cpu;
use super::lost::Lost;
use super::memory_bandwidth::{Memory, MemoryBandwidth};
use super::network::Network;
use super::pressure::Pressures;
use super::rate::is_due;
use super::run_delay::RunDelay;
use super::service::Service;
use super::signal::Capability;
use crate::actuators::RESCTRL;
use crate::cgroup::Group;
use crate::clock;
use crate::readings::{Kinds, Readings};
use brunt_meter::host::HostCpu;
use brunt_results::colocation;
use std::path::Path;
use std::time::{Duration, Instant};

#[derive(Debug, Clone)]
pub struct Options {
    /// Time between two samples; between them readings age. Pauses are read in every tick.
    pub period: Duration,
    /// The same of pressure, memory bandwidth and network.
    pub slow_period: Duration,
    pub memory: Memory,
}

impl Default for Options {
    fn default() -> Self {
        Self { period: Duration::from_millis(200), slow_period: Duration::from_secs(2), memory: Memory::default() }
    }
}

#[derive(Debug)]
pub struct Machine {
    service: Service,
    /// Of the BE jobs.
    group: Group,
    options: Options,
    sampled: Option<Instant>,
    slowly_sampled: Option<Instant>,
    lost: Lost,
    run_delay: RunDelay,
    cpi: Cpi,
    cpu: Cpu,
    pressures: Pressures,
    memory: MemoryBandwidth,
    network: Network,
}

impl Machine {
    /// Begins to watch the machine; `group` is that of the BE jobs.
    pub fn open(service: Service, group: &Group, options: Options) -> Self {
        let lost = Lost::watch(service.pids().first().copied());
        let files = group.files().clone();
        let memory = MemoryBandwidth::new(files, Path::new(RESCTRL), group, options.memory);
        let mut machine = Self {
            service,
            group: group.clone(),
            options,
            sampled: None,
            slowly_sampled: None,
            lost,
            run_delay: RunDelay::default(),
            cpi: Cpi::default(),
            cpu: Cpu::default(),
            pressures: Pressures::default(),
            memory,
            network: Network::default(),
        };
        machine.read(clock::now());
        machine
    }

    /// What can be measured here, with evidence, and what follows where it cannot.
    pub fn capabilities(&self) -> Vec<Capability> {
        let [service_cpu, job_cpu] = self.cpu.capabilities(&self.service, &self.group);
        let [pressure, job_pressure] = self.pressures.capabilities(&self.group);
        let [service_network, job_network] = self.network.capabilities();
        let (lost, run_delay) = (self.lost.capability(), self.run_delay.capability());
        let (cpi, memory) = (self.cpi.capability(), self.memory.capability());
        vec![lost, run_delay, cpi, service_cpu, job_cpu, pressure, job_pressure, memory, service_network, job_network]
    }

    pub fn service(&self) -> &Service {
        &self.service
    }

    /// The newest readings, without those of requests. Cheap in most ticks; once in a period it samples.
    pub fn read(&mut self, now: Instant) -> Readings {
        self.lost.tick(now);
        let Options { period, slow_period, .. } = self.options;
        if is_due(&mut self.sampled, now, period) {
            self.sample(now);
        }
        if is_due(&mut self.slowly_sampled, now, slow_period) {
            self.pressures.sample(now, &self.group);
            self.memory.sample(now);
            self.network.sample(now, &self.service, &self.group);
        }
        Readings {
            requests: None,
            run_delay: self.run_delay.reading(now),
            cpi: self.cpi.reading(now),
            lost: self.lost.reading(now),
            lc_cpu: self.cpu.service.reading(now),
            be_cpu: self.cpu.jobs.reading(now),
            memory_bandwidth: self.memory.all(now),
            be_memory_bandwidth: self.memory.jobs(now),
            lc_network: self.network.service(now),
            be_network: self.network.jobs(now),
            pressure: self.pressures.machine(now),
            be_pressure: self.pressures.jobs(now),
            kinds: Kinds::default(),
        }
    }

    fn sample(&mut self, now: Instant) {
        self.service.refresh(now);
        let host = HostCpu::now();
        self.lost.sample(now, host);
        let pids = self.service.pids();
        self.run_delay.sample(now, &pids);
        self.cpi.sample(now, &pids);
        self.cpu.sample(now, &self.service, &self.group, host);
    }

    /// What was measured so far does not count in the means.
    pub fn begin_means(&mut self) {
        self.lost.begin_mean();
        self.cpu.begin_means();
        self.memory.begin_mean();
        self.network.begin_means();
    }

    /// Means since it was opened, or since their begin.
    pub fn totals(&self) -> colocation::Machine {
        let [service_network_bytes_per_s, job_network_bytes_per_s] = self.network.means();
        colocation::Machine {
            service_cores: self.cpu.service.mean(),
            job_cores: self.cpu.jobs.mean(),
            total_cores: self.cpu.all.mean(),
            lost: self.lost.mean(),
            memory_bytes_per_s: self.memory.mean(),
            service_network_bytes_per_s,
            job_network_bytes_per_s,
        }
    }
}
