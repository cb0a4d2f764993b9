//! The figures of a line of the series: names, units and labels for monitoring systems. Where `brunt export --to prometheus`
//! has the same figure, it has the same name.
//!
//! Figures of results come from their table: one with a gauge there is told here too.

use super::interval::Interval;
use brunt_results::figure::{self, OFFERED_RATE, P50, P99, P999, RATE, RSS};
use brunt_results::provisional::Provisional;
use brunt_results::series::{Line, Second};

pub type Label = Option<(&'static str, &'static str)>;

/// Of several values each has a label.
pub struct Figure<V> {
    /// With the base unit that Prometheus asks for.
    pub name: &'static str,
    /// As UCUM writes it.
    pub unit: &'static str,
    pub help: &'static str,
    /// Absent figures have no value.
    pub values: V,
}

pub type Counter = Figure<fn(&Second) -> Vec<(Label, u64)>>;
pub type Gauge = Figure<Vec<(Label, f64)>>;

type Values = fn(&Interval) -> Vec<(Label, f64)>;

/// Where a gauge comes from.
enum Source {
    /// The table of figures.
    Table(&'static brunt_results::Figure),
    /// What only a second has.
    Second(Figure<Values>),
}

/// The distribution of response times.
pub const RESPONSE: Figure<()> = Figure {
    name: "brunt_response_seconds",
    unit: "s",
    help: "From when a request was due to its reply, in buckets of a quarter",
    values: (),
};

/// Counts, which have the phase of the load as another label.
pub const COUNTERS: [Counter; 3] = [
    Figure {
        name: "brunt_requests_total",
        unit: "{request}",
        help: "Requests by how they ended",
        values: |second| {
            let end = |end, count| (Some(("end", end)), count);
            vec![end("completed", second.completed), end("failed", second.failed)]
        },
    },
    Figure {
        name: "brunt_sent_requests_total",
        unit: "{request}",
        help: "Requests sent",
        values: |second| vec![(None, second.sent)],
    },
    Figure {
        name: "brunt_offered_requests_total",
        unit: "{request}",
        help: "Requests that the schedule asked for",
        values: |second| second.offered.map(|count| (None, count)).into_iter().collect(),
    },
];

const fn gauge(name: &'static str, unit: &'static str, help: &'static str, values: Values) -> Source {
    Source::Second(Figure { name, unit, help, values })
}

/// All gauges of an interval.
pub fn gauges(interval: &Interval) -> Vec<Gauge> {
    let result = Provisional::of(&Line::from(&interval.second), interval.length_s()).result();
    let of_table = |figure: &brunt_results::Figure| {
        let gauge = figure.gauge.as_ref()?;
        let values = plain((figure.of)(&result).map(|value| value / gauge.divisor));
        Some(Figure { name: gauge.name, unit: gauge.unit, help: gauge.help, values })
    };
    let own = GAUGES.iter().filter_map(|source| match source {
        Source::Table(figure) => of_table(figure),
        Source::Second(own) => {
            Some(Figure { name: own.name, unit: own.unit, help: own.help, values: (own.values)(interval) })
        }
    });
    let is_placed = |figure: &brunt_results::Figure| {
        GAUGES.iter().any(|source| matches!(source, Source::Table(placed) if *placed == figure))
    };
    own.chain(figure::all().filter(|figure| !is_placed(figure)).filter_map(of_table)).collect()
}

fn plain(value: Option<f64>) -> Vec<(Label, f64)> {
    value.map(|value| (None, value)).into_iter().collect()
}

fn whole(value: Option<u64>) -> Vec<(Label, f64)> {
    plain(value.map(|value| value as f64))
}

fn ratio(percent: Option<f64>) -> Vec<(Label, f64)> {
    plain(share(percent))
}

fn each<const N: usize>(label: &'static str, values: [(&'static str, Option<f64>); N]) -> Vec<(Label, f64)> {
    values.into_iter().filter_map(|(name, value)| Some((Some((label, name)), value?))).collect()
}

fn modes(user: Option<f64>, system: Option<f64>) -> Vec<(Label, f64)> {
    each("mode", [("user", user), ("system", system)])
}

fn directions(received: Option<f64>, sent: Option<f64>) -> Vec<(Label, f64)> {
    each("direction", [("received", received), ("sent", sent)])
}

fn share(percent: Option<f64>) -> Option<f64> {
    percent.map(|percent| percent / 100.0)
}

/// Figures of the last interval, in the order that monitoring systems are used to.
const GAUGES: [Source; 30] = [
    gauge("brunt_elapsed_seconds", "s", "Time since the load began", |i| plain(Some(i.second.at_s))),
    Source::Table(&RATE),
    Source::Table(&OFFERED_RATE),
    gauge("brunt_open_connections", "{connection}", "Connections open", |i| whole(Some(i.second.connections))),
    Source::Table(&P50),
    Source::Table(&P99),
    Source::Table(&P999),
    gauge("brunt_lag_p99_seconds", "s", "99th percentile of the generator's lateness in the last second", |i| {
        plain(i.second.lag_p99_us.map(|us| us / 1e6))
    }),
    gauge("brunt_generator_cpu_ratio", "1", "CPU of the load threads; 1 is one core", |i| {
        ratio(i.second.generator_cpu_percent)
    }),
    gauge("brunt_generator_resident_memory_bytes", "By", "Resident memory of the generator", |i| {
        whole(i.second.generator_rss_bytes)
    }),
    gauge("brunt_server_cpu_ratio", "1", "CPU of the server; 1 is one core", |i| {
        modes(share(i.second.server_cpu_user_percent), share(i.second.server_cpu_system_percent))
    }),
    Source::Table(&RSS),
    gauge("brunt_server_threads", "{thread}", "Threads of the server", |i| whole(i.second.server_threads)),
    gauge("brunt_server_page_faults_per_second", "{fault}/s", "Page faults of the server", |i| {
        let Second { server_minor_faults_per_s: minor, server_major_faults_per_s: major, .. } = i.second;
        each("kind", [("minor", minor), ("major", major)])
    }),
    gauge("brunt_server_context_switches_per_second", "{switch}/s", "Context switches of the server", |i| {
        let voluntary = i.second.server_voluntary_switches_per_s;
        each("kind", [("voluntary", voluntary), ("involuntary", i.second.server_involuntary_switches_per_s)])
    }),
    gauge("brunt_server_instructions_per_second", "{instruction}/s", "CPU instructions of the server", |i| {
        modes(i.second.server_instructions_user_per_s, i.second.server_instructions_kernel_per_s)
    }),
    gauge("brunt_server_cycles_per_second", "{cycle}/s", "CPU cycles of the server", |i| {
        plain(i.second.server_cycles_per_s)
    }),
    gauge("brunt_server_network_bytes_per_second", "By/s", "TCP payload of the server", |i| {
        directions(i.second.server_network_received_bytes_per_s, i.second.server_network_sent_bytes_per_s)
    }),
    gauge("brunt_server_retransmitted_segments_per_second", "{segment}/s", "TCP segments sent again", |i| {
        plain(i.second.server_retransmitted_segments_per_s)
    }),
    gauge("brunt_server_socket_memory_bytes", "By", "Socket buffers of the server's connections", |i| {
        whole(i.second.server_socket_bytes)
    }),
    gauge("brunt_host_cpu_ratio", "1", "CPU of the host; 1 is one core", |i| ratio(i.second.host_cpu_percent)),
    gauge("brunt_host_softirq_ratio", "1", "CPU of the host in soft interrupts; 1 is one core", |i| {
        ratio(i.second.host_softirq_percent)
    }),
    gauge("brunt_host_steal_ratio", "1", "CPU taken by the hypervisor; 1 is all cores", |i| {
        ratio(i.second.host_steal_percent)
    }),
    gauge("brunt_host_pressure_ratio", "1", "Share of time in which a task waited for the resource", |i| {
        let s = &i.second;
        let [cpu, memory, io] =
            [s.host_pressure_cpu_percent, s.host_pressure_memory_percent, s.host_pressure_io_percent].map(share);
        each("resource", [("cpu", cpu), ("memory", memory), ("io", io)])
    }),
    gauge("brunt_host_frequency_hertz", "Hz", "Mean frequency of the cores", |i| {
        plain(i.second.host_frequency_mhz.map(|mhz| mhz * 1e6))
    }),
    gauge("brunt_host_loopback_bytes_per_second", "By/s", "Bytes on the loopback interface", |i| {
        plain(i.second.host_loopback_bytes_per_s)
    }),
    gauge("brunt_host_interface_bytes_per_second", "By/s", "Bytes on the other interfaces", |i| {
        directions(i.second.host_interface_received_bytes_per_s, i.second.host_interface_sent_bytes_per_s)
    }),
    gauge(
        "brunt_host_retransmitted_segments_per_second",
        "{segment}/s",
        "TCP segments that the host sent again",
        |i| plain(i.second.host_retransmitted_segments_per_s),
    ),
    gauge("brunt_host_tcp_memory_bytes", "By", "Memory of all TCP sockets", |i| whole(i.second.host_tcp_memory_bytes)),
    gauge("brunt_warmup", "1", "1 during the warm-up, else 0", |i| plain(Some(f64::from(u8::from(i.second.warmup))))),
];

#[cfg(test)]
mod tests;
