//! Counters of a server. Each worker has its own, without locks or shared cache lines; readers add them up. The page is
//! Prometheus' text format 0.0.4.

use super::handler::Fault;
use crate::lock;
use brunt_runtime::time;
use std::fmt::{Display, Write};
use std::sync::{Arc, Mutex};
use std::{collections::BTreeMap, sync::atomic::AtomicU64, sync::atomic::Ordering::Relaxed};

/// Status codes counted: 100 to 599.
const STATUSES: usize = 500;
/// Upper bounds of the buckets of handler times, in seconds.
const BOUNDS: [f64; 12] = [1e-6, 2e-6, 5e-6, 1e-5, 2e-5, 5e-5, 1e-4, 5e-4, 1e-3, 1e-2, 1e-1, 1.0];

/// A number with one writing thread and any number of readers.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    /// A load and a store instead of an atomic addition: there is one writer.
    #[inline]
    pub fn add(&self, more: u64) {
        self.0.store(self.0.load(Relaxed).wrapping_add(more), Relaxed);
    }

    pub fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }

    pub fn set(&self, value: u64) {
        self.0.store(value, Relaxed);
    }
}

#[derive(Default)]
pub(crate) struct Counters {
    answers: Vec<Box<[Counter]>>,
    pub accepted: Counter,
    pub open: Counter,
    pub failed: Counter,
    pub received: Counter,
    pub sent: Counter,
    pub refusals: Counter,
    pub late: Counter,
    pub refused_connections: Counter,
    pub lost_lines: Counter,
    pub handshakes_full: Counter,
    pub handshakes_resumed: Counter,
    pub handshakes_failed: Counter,
    faults: [Counter; 4],
}

impl Counters {
    fn new(listeners: usize) -> Self {
        let statuses = || (0..STATUSES).map(|_| Counter::default()).collect();
        Self { answers: (0..listeners).map(|_| statuses()).collect(), ..Self::default() }
    }

    #[inline]
    pub fn answered(&self, listener: u16, status: u16) {
        let counter =
            self.answers.get(usize::from(listener)).and_then(|all| all.get(usize::from(status).wrapping_sub(100)));
        if let Some(counter) = counter {
            counter.add(1);
        }
    }

    pub fn injected(&self, fault: Fault) {
        let kind = match fault {
            Fault::Reset => 0,
            Fault::Truncate(_) => 1,
            Fault::Stall => 2,
            Fault::Garbage => 3,
        };
        self.faults[kind].add(1);
    }
}

/// In the order of [`Counters::injected`].
const FAULTS: [&str; 4] = ["reset", "truncate", "stall", "garbage"];

/// Time spent in a handler, over all workers.
#[derive(Debug, Default)]
pub(crate) struct HandlerTime {
    buckets: [AtomicU64; BOUNDS.len()],
    count: AtomicU64,
    nanos: AtomicU64,
}

impl HandlerTime {
    pub fn measure<T>(&self, f: impl FnOnce() -> T) -> T {
        let start = time::now();
        let result = f();
        let time = time::now() - start;
        let seconds = time.as_secs_f64();
        if let Some(bucket) = BOUNDS.iter().position(|bound| seconds <= *bound) {
            self.buckets[bucket].fetch_add(1, Relaxed);
        }
        self.count.fetch_add(1, Relaxed);
        self.nanos.fetch_add(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX), Relaxed);
        result
    }

    /// Cumulative buckets, sum and count, as Prometheus defines a histogram.
    fn samples(&self, route: &str) -> Vec<(String, f64)> {
        let route = escaped(route);
        let mut sum = 0;
        let mut bucket = |(bound, bucket): (&f64, &AtomicU64)| {
            sum += bucket.load(Relaxed);
            (format!("_bucket{{route=\"{route}\",le=\"{bound}\"}}"), sum as f64)
        };
        let mut samples: Vec<_> = BOUNDS.iter().zip(&self.buckets).map(&mut bucket).collect();
        let count = self.count.load(Relaxed).max(sum) as f64;
        samples.push((format!("_bucket{{route=\"{route}\",le=\"+Inf\"}}"), count));
        samples.push((format!("_sum{{route=\"{route}\"}}"), self.nanos.load(Relaxed) as f64 * 1e-9));
        samples.push((format!("_count{{route=\"{route}\"}}"), count));
        samples
    }
}

pub(crate) struct Metrics {
    listeners: Vec<String>,
    workers: Vec<Arc<Counters>>,
    times: Mutex<BTreeMap<String, Arc<HandlerTime>>>,
    script_errors: Mutex<BTreeMap<String, Arc<AtomicU64>>>,
}

impl Metrics {
    pub fn new(listeners: Vec<String>, workers: usize) -> Self {
        let workers = (0..workers).map(|_| Arc::new(Counters::new(listeners.len()))).collect();
        Self { listeners, workers, times: Mutex::default(), script_errors: Mutex::default() }
    }

    pub fn worker(&self, number: usize) -> Arc<Counters> {
        self.workers[number].clone()
    }

    /// The time of the handlers with this name; the same after a reload.
    pub fn time(&self, name: &str) -> Arc<HandlerTime> {
        lock(&self.times).entry(name.to_owned()).or_default().clone()
    }

    /// Adds the error counter of a script; it replaces that of an earlier script with the same name.
    pub fn register_script(&self, name: &str, errors: Arc<AtomicU64>) {
        lock(&self.script_errors).insert(name.to_owned(), errors);
    }

    pub fn sum(&self, count: impl Fn(&Counters) -> u64) -> u64 {
        self.workers.iter().map(|worker| count(worker)).sum()
    }

    pub fn page(&self) -> String {
        let mut page = Page(String::with_capacity(4096));
        page.family("requests_total", "Requests answered, by listener and status.", self.requests());
        for (name, help, count) in UNLABELLED {
            page.family(name, help, [(String::new(), self.sum(count))]);
        }
        let of_kind = |kind: &str, sum: u64| (format!("{{kind=\"{kind}\"}}"), sum);
        let faults = FAULTS.iter().enumerate();
        let faults = faults.map(|(at, kind)| of_kind(kind, self.sum(|worker| worker.faults[at].get())));
        page.family("faults_total", "Injected faults, by kind.", faults);
        let handshakes = HANDSHAKES.iter().map(|(kind, count)| of_kind(kind, self.sum(count)));
        page.family("tls_handshakes_total", "TLS handshakes, by outcome.", handshakes);
        let scripts = lock(&self.script_errors);
        let of_script = |name: &str| format!("{{script=\"{}\"}}", escaped(name));
        let scripts = scripts.iter().map(|(name, errors)| (of_script(name), errors.load(Relaxed)));
        page.family("script_errors_total", "Script calls that failed and were answered with 500.", scripts);
        let times = lock(&self.times);
        let times = times.iter().flat_map(|(route, time)| time.samples(route));
        let help = "Time in handlers, by route; constant responses are not timed.";
        page.family("handler_seconds", help, times);
        page.0
    }

    /// The non-zero counts by listener and status.
    fn requests(&self) -> impl Iterator<Item = (String, u64)> {
        self.listeners.iter().enumerate().flat_map(move |(number, listener)| {
            let count = move |status: usize| self.sum(|worker| worker.answers[number][status].get());
            let counts = (0..STATUSES).map(move |status| (status, count(status))).filter(|(_, count)| *count > 0);
            let listener = escaped(listener);
            counts
                .map(move |(status, count)| (format!("{{listener=\"{listener}\",status=\"{}\"}}", status + 100), count))
        })
    }
}

type Count = fn(&Counters) -> u64;

/// Name, help and counter of the metrics without labels.
const UNLABELLED: [(&str, &str, Count); 9] = [
    ("received_bytes_total", "Bytes received.", |worker| worker.received.get()),
    ("sent_bytes_total", "Bytes handed to the kernel.", |worker| worker.sent.get()),
    ("connections_total", "Connections accepted.", |worker| worker.accepted.get()),
    ("connections_open", "Connections open now.", |worker| worker.open.get()),
    ("connections_failed_total", "Connections that ended in an error, resets by the client aside.", |worker| {
        worker.failed.get()
    }),
    ("parse_refusals_total", "Requests that were malformed or beyond a limit.", |worker| worker.refusals.get()),
    ("timeouts_total", "Connections ended by a deadline.", |worker| worker.late.get()),
    ("connections_refused_total", "Connections reset on purpose when accepted.", |worker| {
        worker.refused_connections.get()
    }),
    ("log_lines_lost_total", "Access log lines dropped because the disk was too slow.", |worker| {
        worker.lost_lines.get()
    }),
];

const HANDSHAKES: [(&str, Count); 3] = [
    ("full", |worker| worker.handshakes_full.get()),
    ("resumed", |worker| worker.handshakes_resumed.get()),
    ("failed", |worker| worker.handshakes_failed.get()),
];

struct Page(String);

impl Page {
    /// Appends a metric. A sample is the rest of its name, labels included, and its value.
    fn family<V: Display>(&mut self, name: &str, help: &str, samples: impl IntoIterator<Item = (String, V)>) {
        // The name shows the type: Prometheus' rules for names require these endings.
        let kind = match name.rsplit_once('_') {
            Some((_, "total")) => "counter",
            Some((_, "seconds")) => "histogram",
            _ => "gauge",
        };
        let _ = write!(self.0, "# HELP brunt_http_{name} {help}\n# TYPE brunt_http_{name} {kind}\n");
        for (labels, value) in samples {
            let _ = writeln!(self.0, "brunt_http_{name}{labels} {value}");
        }
    }
}

fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
