//! The `server` part of a result: process tree, hardware counters and connections over the measured window.
//!
//! Attach before the load, open and stop at the ends of the window, close when the number of completed requests is known. If
//! the server ended inside the window, all figures are absent.

mod stopped;

use crate::absent;
use crate::cgroup::Group;
use crate::counters::{Counters, Event, Reading};
use crate::cpu_accounting;
use crate::everyone::Everyone;
use crate::exit_watch::ExitWatch;
use crate::memory_limit::MemoryLimits;
use crate::network::Network;
use crate::placement::Placement;
use crate::process::{Snapshot, Switches, Tree, Window};
use crate::quota::Quotas;
use crate::sampling_budget::Sampler;
use crate::search::Search;
use crate::service::{Scope, Service};
use crate::successor::Listened;
use brunt_results::result::{Placed, Server};
use brunt_results::series::Second;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use stopped::{Connections, Stopped};

#[derive(Debug)]
pub struct ServerMeter {
    pid: u32,
    tree: Tree,
    counters: Counters,
    network: Result<Network, String>,
    rss_start_bytes: u64,
    rss_anon_start_bytes: Option<u64>,
    last_sample: Snapshot,
    exit_watch: ExitWatch,
    listened: Listened,
    /// The server is what is in it.
    group: Option<Group>,
    /// Whether other processes than the attached ones serve now.
    replaced: bool,
    /// While it is on cores that it did not choose.
    placement: Option<Placement>,
    service: Service,
    /// While it has the service: before the window opens, and for a moment more without a warm-up.
    search: Option<Search>,
    /// What every process had used when the window opened, until the search has ended.
    opened: Option<Arc<Everyone>>,
    open: Option<Open>,
    stopped: Option<Stopped>,
}

#[derive(Debug)]
struct Open {
    window: Window,
    counted_first: Reading,
    network_first: Connections,
    quotas: Quotas,
    memory_limits: MemoryLimits,
    switches: (Instant, Switches),
    counted: Sampler<Reading>,
    network: Sampler<Connections>,
}

impl ServerMeter {
    pub fn attach(pid: u32) -> Result<Self, String> {
        Self::attach_scoped(&[pid], &[], Scope::default())
    }

    /// Attaches to several processes that form one server, with this part of what stands behind it; the result has the pid of the
    /// first. What listens at `addresses` later, `IP:PORT` or `unix:PATH`, is the server too.
    pub fn attach_scoped(pids: &[u32], addresses: &[String], scope: Scope) -> Result<Self, String> {
        let pid = *pids.first().ok_or("no process was given")?;
        let mut tree = Tree::new(pids)?;
        let counters = Counters::attach_tree(&mut tree, &Event::RESULT);
        let last_sample = tree.sample();
        // Before the load, while there are few descriptors to search.
        let network = Network::of(&tree.pids());
        let rss_start_bytes = last_sample.rss_bytes;
        let rss_anon_start_bytes = tree.rss_anon_bytes();
        let exit_watch = ExitWatch::of(pids);
        let mut service = Service::new(scope, &tree.pids())?;
        // Without load there is nothing to look closely for.
        service.look_now(&tree.pids(), 1);
        let (open, stopped) = (None, None);
        Ok(Self {
            pid,
            tree,
            counters,
            network,
            rss_start_bytes,
            rss_anon_start_bytes,
            last_sample,
            exit_watch,
            listened: Listened::new(addresses.to_vec()),
            group: None,
            replaced: false,
            placement: None,
            service,
            search: None,
            opened: None,
            open,
            stopped,
        })
    }

    /// Attaches to what is in the group, and to what comes into it later. Processes of it may come and go.
    pub fn attach_group(group: Group, scope: Scope) -> Result<Self, String> {
        let pids = group.pids();
        if pids.is_empty() {
            return Err("no process is in it".to_owned());
        }
        let meter = Self::attach_scoped(&pids, &[], scope)?;
        Ok(Self { exit_watch: ExitWatch::of(&[]), group: Some(group), ..meter })
    }

    fn join_group(&mut self) {
        if let Some(group) = &self.group {
            self.tree.add(&group.pids());
        }
    }

    /// Moves the server and what stands behind it to these cores until the meter is dropped. What takes over from it, and what is
    /// found behind it when the window opens, is moved too.
    pub fn place(&mut self, cores: &[usize]) -> Result<(), String> {
        self.placement = Some(Placement::set(&self.service_pids(), cores)?);
        Ok(())
    }

    /// One that cannot be moved stays where it is, which `cores` of the result shows.
    fn place_too(&mut self, pids: &[u32]) {
        if let Some(placement) = &mut self.placement {
            let _ = placement.add(pids);
        }
    }

    /// Looks for what stands behind the server until the window opens, as the load has begun.
    pub fn search(&mut self) {
        if self.open.is_none() && self.search.is_none() {
            self.search = Some(Search::of(std::mem::take(&mut self.service), self.tree.pids()));
        }
    }

    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// The processes and their children, as last seen.
    pub fn pids(&self) -> Vec<u32> {
        self.tree.pids()
    }

    /// With those of what stands behind the server.
    pub fn service_pids(&self) -> Vec<u32> {
        self.tree.pids().into_iter().chain(self.service.pids()).collect()
    }

    /// Follows the server to what listens at its addresses now. Returns the process that took over, if one did.
    pub fn renew(&mut self) -> Option<u32> {
        let roots = self.listened.roots(self.exited().is_some())?;
        let fresh = self.tree.add(&roots);
        self.exit_watch = ExitWatch::of(&roots);
        self.replaced |= !fresh.is_empty();
        self.place_too(&fresh);
        if let (Some(open), Some(pid)) = (&mut self.open, fresh.first()) {
            open.quotas.join(*pid);
            open.memory_limits.join(*pid);
        }
        fresh.first().or(roots.first()).copied()
    }

    /// One of the attached processes that has exited, and none took over since; their children are not considered.
    pub fn exited(&self) -> Option<u32> {
        self.exit_watch.exited()
    }

    /// Opens the measured window now; opening again restarts it. Returns the account of all processes at this moment.
    pub fn open(&mut self) -> Arc<Everyone> {
        self.stopped = None;
        let window = Window::open(&mut self.tree);
        self.last_sample = window.first;
        let counted = Sampler::first(|| self.counters.read());
        let network = Sampler::first(|| connections(&self.network, Network::list_under_load));
        self.open = Some(Open {
            quotas: Quotas::of(self.pid),
            memory_limits: MemoryLimits::of(self.pid),
            switches: (self.last_sample.at, Switches::default()),
            counted_first: counted.newest.clone(),
            network_first: network.newest.clone(),
            window,
            counted,
            network,
        });
        // Last, because it reads every process of the machine. It has a time of its own.
        let everyone = Arc::new(Everyone::take());
        self.opened = Some(Arc::clone(&everyone));
        // Without a warm-up it goes on until the next sample.
        if self.search.as_ref().is_none_or(Search::is_enough) {
            self.end_search();
        }
        everyone
    }

    /// What was found is metered from the opening of the window.
    fn end_search(&mut self) {
        if let Some(service) = self.search.take().and_then(Search::hand_over) {
            self.service = service;
            let found: Vec<u32> = self.service.pids().collect();
            self.place_too(&found);
        }
        if let Some(everyone) = self.opened.take() {
            self.service.open(everyone);
        }
    }

    /// Fills in the figures since the last sample or the opening.
    pub fn sample(&mut self, second: &mut Second) {
        self.renew();
        self.join_group();
        let now = self.tree.sample();
        if now.alive {
            let cpu = now.since(&self.last_sample);
            let faults = now.faults_since(&self.last_sample);
            let per_s = |count: u64| count as f64 / cpu.wall.as_secs_f64().max(1e-9);
            second.server_cpu_user_percent = Some(cpu.user_percent());
            second.server_cpu_system_percent = Some(cpu.system_percent());
            second.server_rss_bytes = Some(now.rss_bytes);
            second.server_threads = Some(now.threads);
            second.server_minor_faults_per_s = Some(per_s(faults.minor));
            second.server_major_faults_per_s = Some(per_s(faults.major));
        }
        if let Some(open) = &mut self.open {
            open.switches(&self.tree, &now, second);
            open.counters(&mut self.counters, second);
            open.connections(&self.network, second);
            second.server_throttled_percent = open.quotas.percent_of_interval();
        }
        self.last_sample = now;
        if self.open.is_some() {
            self.end_search();
        }
        if self.search.is_none() {
            self.service.look(&self.tree.pids());
        }
    }

    /// Ends the measured window now. Without it, `close` ends it.
    pub fn stop(&mut self) {
        if let Some(open) = self.open.take() {
            self.renew();
            self.join_group();
            let usage = open.window.close(&mut self.tree);
            let (throttled, memory_limit) = (open.quotas.since(), open.memory_limits.since());
            self.end_search();
            self.service.stop(&self.tree.pids());
            let counted = (open.counted_first, self.counters.read());
            let network = (open.network_first, connections(&self.network, Network::list));
            self.stopped = Some(Stopped { usage, counted, network, throttled, memory_limit, replaced: self.replaced });
        }
    }

    /// The figures of the window, in which `completed` requests completed, and the reasons for absent ones by name
    /// (`server.cycles_per_request`). `window` is the length of that of the load, of which this one is a reading.
    pub fn close(&mut self, completed: u64, window: Duration) -> (Server, BTreeMap<String, String>) {
        self.stop();
        let placed = self.placement.as_ref();
        let placed = placed.map(|placed| Placed { cores: placed.cores().to_vec(), before: placed.before() });
        let mut server = Server { pid: Some(self.pid), placed, ..Server::default() };
        let stopped = match self.stopped.take() {
            Some(stopped) if stopped.usage.alive => stopped,
            stopped => {
                let ended = format!("the server (pid {}) ended before the measured window did", self.pid);
                let why = stopped.map_or_else(|| "the measured window never opened".to_owned(), |_| ended);
                let absent = absent::reasons("server", &server, |_| Some(why.clone()));
                return (server, absent);
            }
        };
        server.rss_start_bytes = Some(self.rss_start_bytes);
        server.rss_anon_start_bytes = self.rss_anon_start_bytes;
        let too_short = cpu_accounting::too_short(window);
        stopped.fill_moments(&mut server);
        if too_short.is_none() {
            stopped.fill(completed, &mut server);
            server.upstreams = self.service.upstreams(completed);
            server.unseen_upstreams = self.service.unseen();
        }
        let absent = absent::reasons("server", &server, |figure| match stopped.why_moment(figure) {
            Some(why) => Some(why),
            None => too_short.clone().or_else(|| stopped.why(figure, completed)),
        });
        (server, absent)
    }
}

fn connections(network: &Result<Network, String>, list: fn(&Network) -> Connections) -> Connections {
    list(network.as_ref().map_err(String::clone)?)
}

impl Open {
    fn switches(&mut self, tree: &Tree, now: &Snapshot, second: &mut Second) {
        let Some(sum) = self.window.sample_threads(tree, now) else { return };
        let at = Instant::now();
        let (before_at, before) = std::mem::replace(&mut self.switches, (at, sum));
        let per_s = |count: u64| Some(count as f64 / at.duration_since(before_at).as_secs_f64().max(1e-9));
        let switches = sum.since(before);
        second.server_voluntary_switches_per_s = per_s(switches.voluntary);
        second.server_involuntary_switches_per_s = per_s(switches.involuntary);
    }

    fn counters(&mut self, counters: &mut Counters, second: &mut Second) {
        let Some((before, seconds)) = self.counted.again(|| counters.read()) else { return };
        let per_s = |event| Some(self.counted.newest.since(&before, event).ok()? / seconds);
        second.server_instructions_user_per_s = per_s(Event::InstructionsUser);
        second.server_instructions_kernel_per_s = per_s(Event::InstructionsKernel);
        second.server_cycles_per_s = per_s(Event::Cycles);
    }

    fn connections(&mut self, network: &Result<Network, String>, second: &mut Second) {
        let Some((before, seconds)) = self.network.again(|| connections(network, Network::list_under_load)) else {
            return;
        };
        let (Ok(before), Ok(now)) = (before, &self.network.newest) else { return };
        second.server_socket_bytes = Some(now.buffer_bytes());
        let Ok(traffic) = now.since(&before) else { return };
        let per_s = |count: u64| Some(count as f64 / seconds);
        second.server_network_received_bytes_per_s = per_s(traffic.received_bytes);
        second.server_network_sent_bytes_per_s = per_s(traffic.sent_bytes);
        second.server_retransmitted_segments_per_s = per_s(traffic.retransmitted_segments);
    }
}

/// The reasons for a server that was not metered.
pub fn all_absent(why: &str) -> BTreeMap<String, String> {
    absent::reasons("server", &Server::default(), |_| Some(why.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_figure_is_present_or_has_a_reason_and_a_missing_process_is_an_error() {
        let mut meter = ServerMeter::attach(std::process::id()).unwrap();
        meter.open();
        std::thread::sleep(std::time::Duration::from_millis(20));
        let check =
            |(server, absent): (Server, BTreeMap<String, String>)| crate::absent::check("server", &server, &absent);
        meter.stop();
        check(meter.close(1000, Duration::MAX));
        meter.open();
        check(meter.close(0, Duration::MAX));
        let (nothing, absent) = ServerMeter::attach(std::process::id()).unwrap().close(5, Duration::MAX);
        assert_eq!(nothing.cpu_user_percent, None);
        check((nothing, absent));
        // A load that lasts for less than its meters take to read.
        meter.open();
        let (short, absent) = meter.close(5, Duration::from_millis(2));
        assert_eq!((short.minor_faults, short.voluntary_switches, short.cpu_us_per_request), (None, None, None));
        assert!(short.rss_bytes.is_some() && absent["server.minor_faults"].contains("2.0 ms"), "{absent:?}");
        check((short, absent));
        check((Server::default(), all_absent("because")));
        assert!(ServerMeter::attach(1 << 30).unwrap_err().contains("1073741824"));
        assert!(ServerMeter::attach_scoped(&[], &[], Scope::default()).is_err());
    }
}
