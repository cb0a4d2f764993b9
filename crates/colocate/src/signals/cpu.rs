//! CPU time of the LC service, of the BE jobs and of all processes, in cores.

use super::rate::Rate;
use super::service::Service;
use super::signal::{Capability, Signal};
use crate::cgroup::Group;
use brunt_meter::host::HostCpu;
use std::time::Instant;

#[derive(Debug, Default)]
pub(super) struct Cpu {
    pub(super) service: Rate,
    pub(super) jobs: Rate,
    pub(super) all: Rate,
}

impl Cpu {
    pub(super) fn sample(&mut self, now: Instant, service: &Service, group: &Group, host: Option<HostCpu>) {
        self.service.add(now, service.cpu_seconds());
        self.jobs.add(now, group.cpu().map(|cpu| cpu.as_secs_f64()));
        self.all.add(now, host.map(|host| host.used().as_secs_f64()));
    }

    pub(super) fn begin_means(&mut self) {
        [&mut self.service, &mut self.jobs, &mut self.all].into_iter().for_each(Rate::begin_mean);
    }

    pub(super) fn capabilities(&self, service: &Service, group: &Group) -> [Capability; 2] {
        let jobs = match group.cpu_file() {
            Some(file) => Capability::available(Signal::JobCpu, file.display().to_string()),
            None => Capability::missing(
                Signal::JobCpu,
                "neither cpu.stat of version 2 nor cpuacct.usage",
                "what BE jobs do on a core that they were given is not recorded",
            ),
        };
        [Capability::available(Signal::ServiceCpu, service.evidence()), jobs]
    }
}
