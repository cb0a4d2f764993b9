//! Pressure stall information of the machine and of the BE jobs, by the growth of its totals: the kernel's own means are over ten
//! seconds and more.

use super::rate::Rate;
use super::signal::{Capability, Signal};
use crate::cgroup::Group;
use crate::readings::{Pressure, Reading};
use brunt_meter::host;
use std::time::Instant;

/// Processor, memory, I/O.
type Rates = [Rate; 3];

#[derive(Debug, Default)]
pub(super) struct Pressures {
    machine: Rates,
    jobs: Rates,
}

impl Pressures {
    pub(super) fn sample(&mut self, now: Instant, group: &Group) {
        add(&mut self.machine, now, host::pressure().map(|totals| totals.map(|total| total.as_secs_f64())));
        let jobs = group.pressure();
        add(&mut self.jobs, now, jobs.map(|of| [of.cpu, of.memory, of.io].map(|total| total.as_secs_f64())));
    }

    pub(super) fn machine(&self, now: Instant) -> Option<Reading<Pressure>> {
        reading(&self.machine, now)
    }

    pub(super) fn jobs(&self, now: Instant) -> Option<Reading<Pressure>> {
        reading(&self.jobs, now)
    }

    pub(super) fn capabilities(&self, group: &Group) -> [Capability; 2] {
        let unknown = "it is not recorded; no policy depends on it";
        let machine = match host::pressure() {
            Some(_) => Capability::available(Signal::Pressure, "/proc/pressure"),
            None => {
                Capability::missing(Signal::Pressure, "/proc/pressure: not in this kernel, or off (psi=1)", unknown)
            }
        };
        let file = group.file(&["cpu.pressure"]).filter(|_| group.pressure().is_some());
        let jobs = match file {
            Some(file) => Capability::available(Signal::JobPressure, file.display().to_string()),
            None => Capability::missing(Signal::JobPressure, "no group of version 2 with cpu.pressure", unknown),
        };
        [machine, jobs]
    }
}

fn add(rates: &mut Rates, now: Instant, totals: Option<[f64; 3]>) {
    for (index, rate) in rates.iter_mut().enumerate() {
        rate.add(now, totals.map(|totals| totals[index]));
    }
}

fn reading([cpu, memory, io]: &Rates, now: Instant) -> Option<Reading<Pressure>> {
    let share = |rate: &Rate| rate.reading(now).map(|reading| reading.value.min(1.0));
    let value = Pressure { cpu: share(cpu)?, memory: share(memory)?, io: share(io)? };
    Some(Reading { value, age: cpu.reading(now)?.age })
}
