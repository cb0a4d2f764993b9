//! CPU time of the LC service, of the BE jobs and of all processes, in cores.

use super::rate::Rate;
use super::service::Service;
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
}
