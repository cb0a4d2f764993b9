//! Counters of a server. Each worker has its own, without locks or shared cache lines; readers add them up. The page is
//! Prometheus' text format 0.0.4.

use super::handler::Fault;
use std::{
    collections::BTreeMap,
    fmt::Write,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

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

/// The counters of one worker.
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
        Self {
            answers: (0..listeners).map(|_| statuses()).collect(),
            accepted: Counter::default(),
            open: Counter::default(),
            failed: Counter::default(),
            received: Counter::default(),
            sent: Counter::default(),
            refusals: Counter::default(),
            late: Counter::default(),
            refused_connections: Counter::default(),
            lost_lines: Counter::default(),
            handshakes_full: Counter::default(),
            handshakes_resumed: Counter::default(),
            handshakes_failed: Counter::default(),
            faults: Default::default(),
        }
    }

    /// Counts a response.
    #[inline]
    pub fn answered(&self, listener: u16, status: u16) {
        let counter =
            self.answers.get(usize::from(listener)).and_then(|all| all.get(usize::from(status).wrapping_sub(100)));
        if let Some(counter) = counter {
            counter.add(1);
        }
    }

    /// Counts a request refused by the parser.
    pub fn refused(&self, listener: u16, status: u16) {
        self.refusals.add(1);
        self.answered(listener, status);
    }

    /// Counts an injected fault.
    pub fn injected(&self, fault: Fault) {
        self.faults[index(fault)].add(1);
    }
}

const FAULTS: [&str; 4] = ["reset", "truncate", "stall", "garbage"];

fn index(fault: Fault) -> usize {
    match fault {
        Fault::Reset => 0,
        Fault::Truncate(_) => 1,
        Fault::Stall => 2,
        Fault::Garbage => 3,
    }
}

/// Time spent in a handler, over all workers.
#[derive(Debug, Default)]
pub(crate) struct HandlerTime {
    buckets: [AtomicU64; BOUNDS.len()],
    count: AtomicU64,
    nanos: AtomicU64,
}

impl HandlerTime {
    /// Calls `f` and adds the time it takes.
    pub fn measure<T>(&self, f: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let result = f();
        self.add(start.elapsed());
        result
    }

    fn add(&self, time: Duration) {
        let seconds = time.as_secs_f64();
        if let Some(bucket) = BOUNDS.iter().position(|bound| seconds <= *bound) {
            self.buckets[bucket].fetch_add(1, Relaxed);
        }
        self.count.fetch_add(1, Relaxed);
        self.nanos.fetch_add(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX), Relaxed);
    }
}

/// Selects a counter of a worker.
type Count = dyn Fn(&Counters) -> u64;

/// All metrics of a server.
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

    /// The counters of one worker.
    pub fn worker(&self, number: usize) -> Arc<Counters> {
        self.workers[number].clone()
    }

    /// The time of the handlers with this name; the same after a reload.
    pub fn time(&self, name: &str) -> Arc<HandlerTime> {
        let mut times = self.times.lock().unwrap_or_else(PoisonError::into_inner);
        times.entry(name.to_owned()).or_default().clone()
    }

    /// Adds the error counter of a script; it replaces that of an earlier script with the same name.
    pub fn register_script(&self, name: &str, errors: Arc<AtomicU64>) {
        self.script_errors.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned(), errors);
    }

    /// The sum of a counter over all workers.
    pub fn sum(&self, count: impl Fn(&Counters) -> u64) -> u64 {
        self.workers.iter().map(|worker| count(worker)).sum()
    }

    /// All metrics as text.
    pub fn page(&self) -> String {
        let mut page = String::with_capacity(4096);
        let mut family = |name: &str, kind: &str, help: &str, lines: &mut dyn FnMut(&mut String)| {
            let _ = write!(page, "# HELP brunt_http_{name} {help}\n# TYPE brunt_http_{name} {kind}\n");
            lines(&mut page);
        };
        family("requests_total", "counter", "Requests answered, by listener and status.", &mut |page| {
            for (number, listener) in self.listeners.iter().enumerate() {
                for status in 0..STATUSES {
                    let count = self.sum(|worker| worker.answers[number][status].get());
                    if count > 0 {
                        let (listener, status) = (label(listener), status + 100);
                        let _ = writeln!(
                            page,
                            "brunt_http_requests_total{{listener=\"{listener}\",status=\"{status}\"}} {count}"
                        );
                    }
                }
            }
        });
        let plain: [(&str, &str, &str, &Count); 9] = [
            ("received_bytes_total", "counter", "Bytes received.", &|worker| worker.received.get()),
            ("sent_bytes_total", "counter", "Bytes handed to the kernel.", &|worker| worker.sent.get()),
            ("connections_total", "counter", "Connections accepted.", &|worker| worker.accepted.get()),
            ("connections_open", "gauge", "Connections open now.", &|worker| worker.open.get()),
            (
                "connections_failed_total",
                "counter",
                "Connections that ended in an error, resets by the client aside.",
                &|worker| worker.failed.get(),
            ),
            ("parse_refusals_total", "counter", "Requests that were malformed or beyond a limit.", &|worker| {
                worker.refusals.get()
            }),
            ("timeouts_total", "counter", "Connections ended by a deadline.", &|worker| worker.late.get()),
            ("connections_refused_total", "counter", "Connections reset on purpose when accepted.", &|worker| {
                worker.refused_connections.get()
            }),
            ("log_lines_lost_total", "counter", "Access log lines dropped because the disk was too slow.", &|worker| {
                worker.lost_lines.get()
            }),
        ];
        for (name, kind, help, count) in plain {
            family(name, kind, help, &mut |page| {
                let _ = writeln!(page, "brunt_http_{name} {}", self.sum(count));
            });
        }
        family("faults_total", "counter", "Injected faults, by kind.", &mut |page| {
            for (at, kind) in FAULTS.iter().enumerate() {
                let count = self.sum(|worker| worker.faults[at].get());
                let _ = writeln!(page, "brunt_http_faults_total{{kind=\"{kind}\"}} {count}");
            }
        });
        family("tls_handshakes_total", "counter", "TLS handshakes, by outcome.", &mut |page| {
            let kinds: [(&str, &Count); 3] = [
                ("full", &|worker| worker.handshakes_full.get()),
                ("resumed", &|worker| worker.handshakes_resumed.get()),
                ("failed", &|worker| worker.handshakes_failed.get()),
            ];
            for (kind, count) in kinds {
                let _ = writeln!(page, "brunt_http_tls_handshakes_total{{kind=\"{kind}\"}} {}", self.sum(count));
            }
        });
        let scripts = self.script_errors.lock().unwrap_or_else(PoisonError::into_inner);
        family("script_errors_total", "counter", "Script calls that failed and were answered with 500.", &mut |page| {
            for (name, script) in scripts.iter() {
                let _ = writeln!(
                    page,
                    "brunt_http_script_errors_total{{script=\"{}\"}} {}",
                    label(name),
                    script.load(Relaxed)
                );
            }
        });
        let times = self.times.lock().unwrap_or_else(PoisonError::into_inner);
        family(
            "handler_seconds",
            "histogram",
            "Time in handlers, by route; constant responses are not timed.",
            &mut |page| {
                times.iter().for_each(|(route, time)| histogram(page, &label(route), time));
            },
        );
        page
    }
}

fn histogram(page: &mut String, route: &str, time: &HandlerTime) {
    let mut sum = 0;
    for (bound, bucket) in BOUNDS.iter().zip(&time.buckets) {
        sum += bucket.load(Relaxed);
        let _ = writeln!(page, "brunt_http_handler_seconds_bucket{{route=\"{route}\",le=\"{bound}\"}} {sum}");
    }
    let (count, nanos) = (time.count.load(Relaxed).max(sum), time.nanos.load(Relaxed));
    let _ = writeln!(page, "brunt_http_handler_seconds_bucket{{route=\"{route}\",le=\"+Inf\"}} {count}");
    let _ = writeln!(page, "brunt_http_handler_seconds_sum{{route=\"{route}\"}} {}", nanos as f64 * 1e-9);
    let _ = writeln!(page, "brunt_http_handler_seconds_count{{route=\"{route}\"}} {count}");
}

/// Escapes a label value.
fn label(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
