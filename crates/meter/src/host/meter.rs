//! The `host` part of a result: processors, interfaces and TCP of the whole machine inside the window. Context for a result;
//! not attributed to the server.

use super::slabs::{self, Slabs};
use super::{CPUS, HostCpu, RESOURCES, mean_mhz, pressure_us};
use crate::proc_net::{self, Traffic};
use crate::sampling_budget::SamplingBudget;
use crate::{absent, cpu_accounting};
use brunt_results::result::{Core, Host};
use brunt_results::series::Second;
use std::time::{Duration, Instant};
use std::{collections::BTreeMap, fs, path::Path};

#[derive(Debug)]
pub struct HostMeter {
    first: Option<Sample>,
    last: Option<Sample>,
    last_sample: Sample,
    frequencies: Vec<f64>,
    budget: SamplingBudget,
    slabs_at_start: Slabs,
    slabs_at_end: Option<Slabs>,
}

#[derive(Debug, Clone)]
struct Sample {
    at: Instant,
    cpu: Option<HostCpu>,
    cores: Vec<(usize, HostCpu)>,
    waited_us: [Option<u64>; RESOURCES.len()],
    traffic: Option<Traffic>,
    retransmits: Option<u64>,
    drops: Option<u64>,
    zero_windows: Option<u64>,
    /// TCP sockets and bytes of their buffers.
    tcp: Option<(u64, u64)>,
}

impl Sample {
    fn now() -> Self {
        let stat = fs::read_to_string("/proc/stat").unwrap_or_default();
        Self {
            at: Instant::now(),
            cpu: HostCpu::parse(&stat),
            cores: HostCpu::cores(&stat),
            waited_us: RESOURCES.map(pressure_us),
            traffic: Traffic::now(),
            retransmits: proc_net::snmp("Tcp", "RetransSegs"),
            drops: proc_net::netstat("TcpExt", "ListenDrops"),
            zero_windows: proc_net::netstat("TcpExt", "TCPToZeroWindowAdv"),
            tcp: proc_net::tcp_in_use(),
        }
    }

    /// The increase of a counter since `earlier`.
    fn counted(&self, earlier: &Self, counter: fn(&Self) -> Option<u64>) -> Option<u64> {
        Some(counter(self)?.saturating_sub(counter(earlier)?))
    }

    fn wall_s(&self, earlier: &Self) -> f64 {
        self.at.duration_since(earlier.at).as_secs_f64().max(1e-9)
    }

    /// What was used or counted since `earlier`.
    fn used(&self, earlier: &Self) -> Host {
        let traffic = self.traffic.zip(earlier.traffic).map(|(now, earlier)| now.since(&earlier));
        let [pressure_cpu_percent, pressure_memory_percent, pressure_io_percent] = self.pressure_percent(earlier);
        Host {
            cpu_percent: self.percent(earlier, HostCpu::busy_share_since),
            steal_percent: self.steal_percent(earlier),
            cores: self.each_core(earlier),
            pressure_cpu_percent,
            pressure_memory_percent,
            pressure_io_percent,
            loopback_bytes: traffic.map(|traffic| traffic.loopback),
            interface_received_bytes: traffic.map(|traffic| traffic.received),
            interface_sent_bytes: traffic.map(|traffic| traffic.sent),
            retransmitted_segments: self.counted(earlier, |sample| sample.retransmits),
            listen_drops: self.counted(earlier, |sample| sample.drops),
            zero_windows: self.counted(earlier, |sample| sample.zero_windows),
            ..Host::default()
        }
    }

    /// A share of all processors in percent; 100 is one core.
    fn percent(&self, earlier: &Self, share: fn(&HostCpu, &HostCpu) -> Option<f64>) -> Option<f64> {
        Some(share(self.cpu.as_ref()?, earlier.cpu.as_ref()?)? * self.cores.len() as f64 * 100.0)
    }

    fn steal_percent(&self, earlier: &Self) -> Option<f64> {
        self.cpu?.steal_percent_since(&earlier.cpu?)
    }

    fn pressure_percent(&self, earlier: &Self) -> [Option<f64>; RESOURCES.len()] {
        let wall_us = self.wall_s(earlier) * 1e6;
        std::array::from_fn(|i| {
            let waited = self.waited_us[i]?.saturating_sub(earlier.waited_us[i]?);
            // The two clocks are not read at the same instant.
            Some((waited as f64 / wall_us * 100.0).min(100.0))
        })
    }

    fn each_core(&self, earlier: &Self) -> Option<Vec<Core>> {
        let core = |(number, now): &(usize, HostCpu)| {
            let (_, before) = earlier.cores.iter().find(|(other, _)| other == number)?;
            Some(Core {
                core: *number,
                cpu_percent: now.busy_share_since(before)? * 100.0,
                softirq_percent: now.softirq_share_since(before)? * 100.0,
            })
        };
        let cores: Option<Vec<Core>> = self.cores.iter().map(core).collect();
        cores.filter(|cores| !cores.is_empty())
    }
}

impl HostMeter {
    pub fn attach() -> Self {
        let last_sample = Sample::now();
        let (frequencies, budget, slabs_at_start) = (Vec::new(), SamplingBudget::default(), Slabs::now());
        Self { first: None, last: None, last_sample, frequencies, budget, slabs_at_start, slabs_at_end: None }
    }

    /// Opens the measured window now; opening again restarts it.
    pub fn open(&mut self) {
        let now = Sample::now();
        self.last_sample = now.clone();
        self.first = Some(now);
        (self.last, self.slabs_at_end) = (None, None);
        self.frequencies = mean_mhz(Path::new(CPUS)).into_iter().collect();
    }

    /// Fills in the figures since the last sample or the opening.
    pub fn sample(&mut self, second: &mut Second) {
        let now = Sample::now();
        let earlier = std::mem::replace(&mut self.last_sample, now.clone());
        let per_s = |count: Option<u64>| Some(count? as f64 / now.wall_s(&earlier));
        second.host_cpu_percent = now.percent(&earlier, HostCpu::busy_share_since);
        second.host_softirq_percent = now.percent(&earlier, HostCpu::softirq_share_since);
        second.host_steal_percent = now.steal_percent(&earlier);
        [second.host_pressure_cpu_percent, second.host_pressure_memory_percent, second.host_pressure_io_percent] =
            now.pressure_percent(&earlier);
        let traffic = now.traffic.zip(earlier.traffic).map(|(now, before)| now.since(&before));
        second.host_loopback_bytes_per_s = per_s(traffic.map(|traffic| traffic.loopback));
        second.host_interface_received_bytes_per_s = per_s(traffic.map(|traffic| traffic.received));
        second.host_interface_sent_bytes_per_s = per_s(traffic.map(|traffic| traffic.sent));
        second.host_retransmitted_segments_per_s = per_s(now.counted(&earlier, |sample| sample.retransmits));
        second.host_tcp_memory_bytes = now.tcp.map(|(_, bytes)| bytes);
        second.host_frequency_mhz = self.budget.take(|| mean_mhz(Path::new(CPUS))).flatten();
        if self.first.is_some() && self.last.is_none() {
            self.frequencies.extend(second.host_frequency_mhz);
        }
    }

    /// Ends the measured window now. Without it, `close` ends it.
    pub fn stop(&mut self) {
        self.last = Some(Sample::now());
        self.slabs_at_end = Some(Slabs::now());
    }

    /// The figures of the window, and the reasons for absent ones by name (`host.frequency_mhz`). `window` is the length of that of
    /// the load, of which this one is a reading.
    pub fn close(mut self, window: Duration) -> (Host, BTreeMap<String, String>) {
        let Some(first) = self.first.take() else {
            return (Host::default(), all_absent("the measured window never opened"));
        };
        let last = self.last.take().unwrap_or_else(Sample::now);
        let (start, end) = (self.slabs_at_start, self.slabs_at_end.unwrap_or_else(Slabs::now));
        let bytes = |part: &slabs::Part| part.as_ref().ok().copied();
        let too_short = cpu_accounting::too_short(window);
        let used = if too_short.is_none() { last.used(&first) } else { Host::default() };
        let mean = self.frequencies.iter().sum::<f64>() / self.frequencies.len() as f64;
        let host = Host {
            frequency_mhz: Some(mean).filter(|mean| mean.is_finite()),
            tcp_sockets: last.tcp.map(|(sockets, _)| sockets),
            tcp_memory_bytes: last.tcp.map(|(_, bytes)| bytes),
            slab_start_bytes: start.all,
            slab_bytes: end.all,
            slab_sockets_start_bytes: bytes(&start.sockets),
            slab_sockets_bytes: bytes(&end.sockets),
            slab_io_uring_start_bytes: bytes(&start.io_uring),
            slab_io_uring_bytes: bytes(&end.io_uring),
            slab_epoll_start_bytes: bytes(&start.epoll),
            slab_epoll_bytes: bytes(&end.epoll),
            ..used
        };
        let absent = absent::reasons("host", &host, |figure| match figure {
            figure if figure.starts_with("slab_") => [&start, &end].into_iter().find_map(|slabs| slabs.why(figure)),
            "frequency_mhz" | "tcp_sockets" | "tcp_memory_bytes" => why(figure).map(str::to_owned),
            _ => too_short.clone().or_else(|| why(figure).map(str::to_owned)),
        });
        (host, absent)
    }
}

fn why(figure: &str) -> Option<&'static str> {
    Some(match figure {
        "cpu_percent" | "steal_percent" => "no tick passed in the measured window, or /proc/stat could not be read",
        "cores" => "a processor went offline or came online, or /proc/stat lists none",
        "frequency_mhz" => "no processor reports its frequency (/sys/devices/system/cpu/cpu*/cpufreq)",
        "loopback_bytes" | "interface_received_bytes" | "interface_sent_bytes" => "/proc/net/dev could not be read",
        "retransmitted_segments" => "/proc/net/snmp has no RetransSegs",
        "listen_drops" => "/proc/net/netstat has no ListenDrops",
        "zero_windows" => "/proc/net/netstat has no TCPToZeroWindowAdv",
        "tcp_sockets" | "tcp_memory_bytes" => "/proc/net/sockstat has no TCP line",
        "pressure_cpu_percent" | "pressure_memory_percent" | "pressure_io_percent" => {
            "the kernel does not account for pressure: /proc/pressure cannot be read (CONFIG_PSI, psi=1)"
        }
        _ => return None,
    })
}

/// The reasons for a host that was not metered.
pub fn all_absent(why: &str) -> BTreeMap<String, String> {
    absent::reasons("host", &Host::default(), |_| Some(why.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::absent::check;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::thread;

    fn transfer(bytes: usize) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut far = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut near, _) = listener.accept().unwrap();
        let sender = thread::spawn(move || far.write_all(&vec![1; bytes]).unwrap());
        let mut buffer = vec![0; 1 << 16];
        let mut left = bytes;
        while left > 0 {
            left -= near.read(&mut buffer).unwrap();
        }
        sender.join().unwrap();
    }

    #[test]
    fn every_figure_is_present_or_has_a_reason() {
        let mut meter = HostMeter::attach();
        meter.open();
        // Ten of the ticks (10 ms) by which the kernel counts.
        let used = || crate::process::cpu_of(std::process::id()).unwrap();
        let before = used();
        brunt_testkit::until("this process has used ten ticks", || {
            transfer(16 << 20);
            used() - before >= Duration::from_millis(100)
        });
        thread::sleep(Duration::from_millis(50));
        let mut second = Second::default();
        meter.sample(&mut second);
        meter.stop();
        let (host, absent) = meter.close(Duration::MAX);
        check("host", &host, &absent);
        assert!(host.loopback_bytes.unwrap() >= 16 << 20, "{host:?}");
        assert!(host.cpu_percent.unwrap() > 0.0 && host.cores.is_some(), "{host:?}");
        assert!(second.host_cpu_percent.is_some() && second.host_loopback_bytes_per_s.unwrap() > 0.0, "{second:?}");
        check("host", &Host::default(), &all_absent("because"));
        let (never, absent) = HostMeter::attach().close(Duration::MAX);
        check("host", &never, &absent);
        let mut meter = HostMeter::attach();
        meter.open();
        let (short, absent) = meter.close(Duration::from_millis(2));
        assert!(short.loopback_bytes.is_none() && absent["host.loopback_bytes"].contains("2.0 ms"), "{absent:?}");
        check("host", &short, &absent);
    }
}
