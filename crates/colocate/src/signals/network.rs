//! Bytes that the LC service and the BE jobs send over TCP, by the kernel's counts of their connections.
//!
//! A window in which one of their connections closed has no reading, because the kernel discards its counts. What is sent by other
//! protocols does not count.

use super::rate::Rate;
use super::service::Service;
use super::signal::{Capability, Signal};
use crate::cgroup::Group;
use crate::readings::Reading;
use brunt_meter::SamplingBudget;
use brunt_meter::cgroup::tree;
use brunt_meter::connections::{Connection, Connections};
use brunt_meter::listener;
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::time::Instant;

#[derive(Debug, Default)]
pub(super) struct Network {
    /// Ports on which these processes of the service listen.
    ports: (Vec<u32>, BTreeSet<u16>),
    before: Option<Connections>,
    service: Sent,
    jobs: Sent,
    /// Listing connections takes 1 us for each.
    budget: SamplingBudget,
}

/// A sum with the reason why it goes no further.
#[derive(Debug, Default)]
struct Sent {
    bytes: u64,
    rate: Rate,
    why: Option<String>,
}

impl Network {
    pub(super) fn sample(&mut self, now: Instant, service: &Service, group: &Group) {
        let pids = service.pids();
        if self.ports.0 != pids {
            let ports = listener::addresses_of(&pids).iter().map(|address| address.port()).collect();
            self.ports = (pids, ports);
        }
        let Some(listed) = self.budget.take(Connections::list) else { return };
        let (ports, own, groups) = (&self.ports.1, service.own_group().map(ids).unwrap_or_default(), ids(group));
        let of_service = |one: &Connection| ports.contains(&one.local_port) || is_in(&own, one);
        let of_jobs = |one: &Connection| is_in(&groups, one);
        let before = self.before.as_ref();
        let nothing = "it listens on no TCP port of this network namespace";
        let service = if ports.is_empty() && own.is_empty() { Err(nothing.to_owned()) } else { Ok(()) };
        self.service.add(now, service.and(sent(&listed, before, of_service)));
        let jobs = if groups.is_empty() { Err("no group of version 2".to_owned()) } else { Ok(()) };
        self.jobs.add(now, jobs.and(sent(&listed, before, of_jobs)));
        self.before = listed.ok();
    }

    pub(super) fn service(&self, now: Instant) -> Option<Reading<f64>> {
        self.service.rate.reading(now)
    }

    pub(super) fn jobs(&self, now: Instant) -> Option<Reading<f64>> {
        self.jobs.rate.reading(now)
    }

    pub(super) fn begin_means(&mut self) {
        [&mut self.service, &mut self.jobs].into_iter().for_each(|sent| sent.rate.begin_mean());
    }

    /// Bytes a second of the service and of the jobs.
    pub(super) fn means(&self) -> [Option<f64>; 2] {
        [self.service.rate.mean(), self.jobs.rate.mean()]
    }

    pub(super) fn capabilities(&self) -> [Capability; 2] {
        let ports: Vec<String> = self.ports.1.iter().map(u16::to_string).collect();
        let ports = if ports.is_empty() { String::new() } else { format!(", port {}", ports.join(", ")) };
        let service = "policies that leave bandwidth for the service take its use for unknown";
        [
            self.service.capability(Signal::ServiceNetwork, &format!("sock_diag{ports}"), service),
            self.jobs.capability(
                Signal::JobNetwork,
                "sock_diag, by control group",
                "what BE jobs send is not recorded",
            ),
        ]
    }
}

impl Sent {
    fn add(&mut self, now: Instant, sent: Result<u64, String>) {
        self.bytes += sent.as_ref().copied().unwrap_or_default();
        self.rate.add(now, sent.is_ok().then_some(self.bytes as f64));
        self.why = sent.err();
    }

    fn capability(&self, name: Signal, evidence: &str, consequence: &str) -> Capability {
        match &self.why {
            None => {
                Capability::available(name, evidence).but("TCP alone, and nothing while its connections come and go")
            }
            Some(why) => Capability::missing(name, why, consequence),
        }
    }
}

/// Nothing the first time: what was sent before the first list does not count.
fn sent(
    listed: &Result<Connections, String>,
    before: Option<&Connections>,
    of: impl Fn(&Connection) -> bool,
) -> Result<u64, String> {
    let listed = listed.as_ref().map_err(Clone::clone)?;
    before.map_or(Ok(0), |before| listed.sent_since(before, of))
}

fn is_in(groups: &BTreeSet<u64>, one: &Connection) -> bool {
    one.group.is_some_and(|group| groups.contains(&group))
}

/// Ids of a group of version 2 and of those below it.
fn ids(group: &Group) -> BTreeSet<u64> {
    let files = &**group.files();
    let all = group.version_two().into_iter().flat_map(|dir| tree(files, dir));
    all.filter_map(|dir| fs::metadata(dir).ok()).map(|metadata| metadata.ino()).collect()
}
