//! The `server` part of a result: process tree, hardware counters and connections over the measured window.
//!
//! Attach before the load, open and stop at the ends of the window, close when the number of completed requests is known. If
//! the server ended inside the window, all figures are absent.

use crate::absent;
use crate::counters::{Counters, Event, Reading};
use crate::cpu_accounting;
use crate::everyone::Everyone;
use crate::exit_watch::ExitWatch;
use crate::network::{self, Network};
use crate::process::{Snapshot, Switches, Tree, Usage, Window};
use crate::quota::Quotas;
use crate::sampling_budget::Sampler;
use crate::search::Search;
use crate::service::{Scope, Service};
use crate::successor::Listened;
use brunt_results::result::{Server, Throttled};
use brunt_results::series::Second;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

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
    /// Whether other processes than the attached ones serve now.
    replaced: bool,
    service: Service,
    /// While it has the service: before the window opens.
    search: Option<Search>,
    open: Option<Open>,
    stopped: Option<Stopped>,
}

/// All connections of the server, or why they cannot be listed.
type Connections = Result<network::Sample, String>;

#[derive(Debug)]
struct Open {
    window: Window,
    counted_first: Reading,
    network_first: Connections,
    quotas: Quotas,
    switches: (Instant, Switches),
    counted: Sampler<Reading>,
    network: Sampler<Connections>,
}

#[derive(Debug)]
struct Stopped {
    usage: Usage,
    counted: (Reading, Reading),
    network: (Connections, Connections),
    throttled: Option<Throttled>,
    replaced: bool,
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
        let mut service = Service::new(scope)?;
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
            replaced: false,
            service,
            search: None,
            open,
            stopped,
        })
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
        let known = self.tree.pids();
        let fresh: Vec<u32> = roots.iter().copied().filter(|pid| !known.contains(pid)).collect();
        self.tree.add(&fresh);
        self.exit_watch = ExitWatch::of(&roots);
        self.replaced |= !fresh.is_empty();
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
            switches: (self.last_sample.at, Switches::default()),
            counted_first: counted.newest.clone(),
            network_first: network.newest.clone(),
            window,
            counted,
            network,
        });
        // Last, because it reads every process of the machine. It has a time of its own.
        let everyone = Arc::new(Everyone::take());
        self.service =
            self.search.take().and_then(Search::hand_over).unwrap_or_else(|| std::mem::take(&mut self.service));
        self.service.open(Arc::clone(&everyone));
        everyone
    }

    /// Fills in the figures since the last sample or the opening.
    pub fn sample(&mut self, second: &mut Second) {
        self.renew();
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
        }
        self.last_sample = now;
        if self.search.is_none() {
            self.service.look(&self.tree.pids());
        }
    }

    /// Ends the measured window now. Without it, `close` ends it.
    pub fn stop(&mut self) {
        if let Some(open) = self.open.take() {
            self.renew();
            let usage = open.window.close(&mut self.tree);
            let throttled = open.quotas.since();
            self.service.stop(&self.tree.pids());
            let counted = (open.counted_first, self.counters.read());
            let network = (open.network_first, connections(&self.network, Network::list));
            self.stopped = Some(Stopped { usage, counted, network, throttled, replaced: self.replaced });
        }
    }

    /// The figures of the window, in which `completed` requests completed, and the reasons for absent ones by name
    /// (`server.cycles_per_request`). `window` is the length of that of the load, of which this one is a reading.
    pub fn close(&mut self, completed: u64, window: Duration) -> (Server, BTreeMap<String, String>) {
        self.stop();
        let mut server = Server { pid: Some(self.pid), ..Server::default() };
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

impl Stopped {
    /// What there was at the end of the window.
    fn fill_moments(&self, server: &mut Server) {
        let usage = &self.usage;
        server.rss_bytes = Some(usage.rss_bytes);
        server.rss_peak_bytes = usage.rss_peak_bytes;
        server.rss_anon_bytes = usage.rss_anon_bytes;
        server.threads = Some(usage.threads);
        server.cores = usage.cores.clone();
        server.socket_bytes = self.network.1.as_ref().ok().map(network::Sample::buffer_bytes);
    }

    /// What was used or counted within the window.
    fn fill(&self, completed: u64, server: &mut Server) {
        let usage = &self.usage;
        let is_accounted = cpu_accounting::too_short(usage.cpu.wall).is_none();
        if is_accounted {
            server.cpu_user_percent = Some(usage.cpu.user_percent());
            server.cpu_system_percent = Some(usage.cpu.system_percent());
            server.busiest_thread_percent = usage.busiest_thread_percent;
            server.run_queue_wait_percent = usage.run_queue_wait_percent;
        }
        server.minor_faults = Some(usage.faults.minor);
        server.major_faults = Some(usage.faults.major);
        server.throttled = self.throttled.clone();
        server.voluntary_switches = usage.switches.map(|switches| switches.voluntary);
        server.involuntary_switches = usage.switches.map(|switches| switches.involuntary);
        if let Ok(traffic) = self.traffic() {
            server.network_received_bytes = Some(traffic.received_bytes);
            server.network_sent_bytes = Some(traffic.sent_bytes);
            server.retransmitted_segments = Some(traffic.retransmitted_segments);
        }
        if completed > 0 {
            let completed = completed as f64;
            server.cpu_us_per_request = is_accounted.then(|| usage.cpu.total().as_secs_f64() * 1e6 / completed);
            let each = |event| Some(self.count(event).ok()? / completed);
            server.instructions_user_per_request = each(Event::InstructionsUser);
            server.instructions_kernel_per_request = each(Event::InstructionsKernel);
            server.cycles_per_request = each(Event::Cycles);
        }
    }

    fn why_moment(&self, figure: &str) -> Option<String> {
        let why = match figure {
            "cores" => "the cores that the server may use are unknown",
            "socket_bytes" => return self.network.1.as_ref().err().cloned(),
            "rss_anon_start_bytes" | "rss_anon_bytes" | "rss_peak_bytes" => "a process ended while it was read",
            _ => return None,
        };
        Some(why.to_owned())
    }

    fn why(&self, figure: &str, completed: u64) -> Option<String> {
        let too_short = || cpu_accounting::too_short(self.usage.cpu.wall);
        let why = match figure {
            figure if figure.ends_with("_per_request") && completed == 0 => "no request completed",
            "cpu_user_percent" | "cpu_system_percent" | "cpu_us_per_request" => return too_short(),
            "busiest_thread_percent" | "run_queue_wait_percent" if too_short().is_some() => return too_short(),
            "busiest_thread_percent" => {
                return Some(format!("{} threads are too many to sample each", self.usage.threads));
            }
            "run_queue_wait_percent" => {
                "more threads worked than it has cores, or the kernel does not account for waiting"
            }
            "voluntary_switches" | "involuntary_switches" => {
                "threads of the server ended, and the kernel discards their switches, or there are too many threads"
            }
            "network_received_bytes" | "network_sent_bytes" | "retransmitted_segments" => return self.traffic().err(),
            "instructions_user_per_request" => return self.count(Event::InstructionsUser).err(),
            "instructions_kernel_per_request" => return self.count(Event::InstructionsKernel).err(),
            "cycles_per_request" => return self.count(Event::Cycles).err(),
            _ => return None,
        };
        Some(why.to_owned())
    }

    fn traffic(&self) -> Result<network::Traffic, String> {
        let first = self.network.0.as_ref().map_err(String::clone)?;
        self.network.1.as_ref().map_err(String::clone)?.since(first)
    }

    fn count(&self, event: Event) -> Result<f64, String> {
        if self.replaced {
            return Err(
                "the server was replaced by another process, and the counters are those of the first".to_owned()
            );
        }
        self.counted.1.since(&self.counted.0, event)
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
