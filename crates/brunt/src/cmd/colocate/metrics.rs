//! What a controller does, as a page for Prometheus.

use brunt_colocate::controller::Status;
use brunt_colocate::readings::Reading;
use brunt_lab::export::exposition;

/// The page in the text format 0.0.4.
pub(super) fn text(status: &Status) -> String {
    let mut page = Page::default();
    let cores = status.decision.allotment.cores;
    page.gauge("allotment_cores", "CPU time that the jobs may use, in cores.", [(String::new(), cores)]);
    let frozen = f64::from(status.decision.allotment.is_frozen());
    page.gauge("frozen", "1 while the jobs are frozen by the policy.", [(String::new(), frozen)]);
    let decisions = status.decisions.iter();
    let decisions = decisions.map(|(reason, count)| (format!("{{reason=\"{reason}\"}}"), *count as f64));
    page.family("decisions_total", "counter", "Decisions, by their reason.", decisions);
    let limits = status.limits.iter().map(|limit| {
        let load = limit.known.load.map_or("any".to_owned(), |load| format!("{load:.1}"));
        let kinds = exposition::label("kinds", &limit.kinds.join(","));
        (format!("{{load=\"{load}\"{kinds}}}"), limit.known.cores)
    });
    page.gauge(
        "limit_cores",
        "Allotments that were too much, by the kinds of the jobs, and the load of the service from which they hold.",
        limits,
    );
    let (requests, slow) = status.requests;
    page.family(
        "requests_total",
        "counter",
        "Requests of the service that were seen.",
        [(String::new(), requests as f64)],
    );
    let help = "Of these, slower than the objective's limit, or failed.";
    page.family("slow_requests_total", "counter", help, [(String::new(), slow as f64)]);
    let requests = status.readings.requests;
    let latency = requests.map(|requests| (String::new(), requests.value.latency_ms / 1e3));
    page.gauge("latency_seconds", "The objective's quantile of the response times of a second.", latency);
    let age = requests.map(|requests| (String::new(), requests.age.max(0.0)));
    page.gauge("reading_age_seconds", "Age of the newest counts of requests.", age);
    let value = |reading: Option<Reading<f64>>| reading.map(|reading| (String::new(), reading.value));
    page.gauge("service_cpu_cores", "CPU time of the service, in cores.", value(status.readings.lc_cpu));
    page.gauge("jobs_cpu_cores", "CPU time of the jobs, in cores.", value(status.readings.be_cpu));
    page.gauge("jobs", "Jobs that run.", [(String::new(), status.jobs.len() as f64)]);
    page.gauge("faults", "What the controller cannot do.", [(String::new(), status.faults.len() as f64)]);
    page.gauge(
        "run_seconds",
        "Time since the begin of the run: it stands still where the controller does.",
        [(String::new(), status.seconds)],
    );
    page.0
}

#[derive(Default)]
struct Page(String);

impl Page {
    fn gauge(&mut self, name: &str, help: &str, values: impl IntoIterator<Item = (String, f64)>) {
        self.family(name, "gauge", help, values);
    }

    /// What has no value has no line.
    fn family(&mut self, name: &str, kind: &str, help: &str, values: impl IntoIterator<Item = (String, f64)>) {
        let lines: String =
            values.into_iter().map(|(labels, value)| format!("brunt_colocate_{name}{labels} {value}\n")).collect();
        exposition::family(&mut self.0, &format!("brunt_colocate_{name}"), kind, help, &lines);
    }
}
