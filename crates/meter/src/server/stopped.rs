//! What was read of a server at the two ends of the measured window, and the figures that follow from it.

use crate::counters::{Event, Reading};
use crate::process::Usage;
use crate::{cpu_accounting, network};
use brunt_results::result::{MemoryLimit, Server, Throttled};

/// All connections of the server, or why they cannot be listed.
pub(super) type Connections = Result<network::Sample, String>;

#[derive(Debug)]
pub(super) struct Stopped {
    pub(super) usage: Usage,
    pub(super) counted: (Reading, Reading),
    pub(super) network: (Connections, Connections),
    pub(super) throttled: Option<Throttled>,
    pub(super) memory_limit: Option<MemoryLimit>,
    pub(super) replaced: bool,
}

impl Stopped {
    /// What there was at the end of the window.
    pub(super) fn fill_moments(&self, server: &mut Server) {
        let usage = &self.usage;
        server.memory_limit = self.memory_limit.clone();
        server.rss_bytes = Some(usage.rss_bytes);
        server.rss_peak_bytes = usage.rss_peak_bytes;
        server.rss_anon_bytes = usage.rss_anon_bytes;
        server.threads = Some(usage.threads);
        server.cores = usage.cores.clone();
        server.socket_bytes = self.network.1.as_ref().ok().map(network::Sample::buffer_bytes);
    }

    /// What was used or counted within the window.
    pub(super) fn fill(&self, completed: u64, server: &mut Server) {
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

    pub(super) fn why_moment(&self, figure: &str) -> Option<String> {
        let why = match figure {
            "cores" => "the cores that the server may use are unknown",
            "socket_bytes" => return self.network.1.as_ref().err().cloned(),
            "rss_anon_start_bytes" | "rss_anon_bytes" | "rss_peak_bytes" => "a process ended while it was read",
            _ => return None,
        };
        Some(why.to_owned())
    }

    pub(super) fn why(&self, figure: &str, completed: u64) -> Option<String> {
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
