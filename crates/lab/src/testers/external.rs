//! External testers: the load they get, their parsed output, and the result made of it.
//!
//! Most of them start their clock when they send, so their latency is *service time*. In a closed loop a request is intended
//! when it is sent, and the same figures are the response time. At a given rate they are not, and one of the two is absent.
//! A figure that a tester does not report is absent, with the reason.

use crate::{plan::tester::Capabilities, schedule::Cell};
use brunt_results::result::{Errors, Generator, Responses};
use brunt_results::{LatencySummary, RunResult, result};
use std::net::Ipv4Addr;
use std::{collections::BTreeMap, fmt, fs, path::Path, time::Duration};

/// How to run an external tester and read its output.
pub struct ExternalTester {
    pub capabilities: &'static Capabilities,
    /// Arguments; the address comes last.
    pub args: fn(&LoadSpec) -> Vec<String>,
    /// A file with results that it writes into the trial's directory.
    pub file: Option<&'static str>,
    /// Parses its standard output and that file.
    pub read: fn(output: &str, file: &str) -> Result<ParsedOutput, String>,
    /// Latency figures that it never reports, and why.
    pub untold: &'static [(&'static str, &'static str)],
    /// Other figures that it never reports, and why.
    pub absent: &'static [(&'static str, &'static str)],
}

impl ExternalTester {
    /// Parses what it left in a directory: its standard output, in the file `output`, and its own file.
    pub fn parsed(&self, dir: &Path, output: &str) -> Result<ParsedOutput, String> {
        let read = |file: &str| String::from_utf8_lossy(&fs::read(dir.join(file)).unwrap_or_default()).into_owned();
        (self.read)(&read(output), &self.file.map_or(String::new(), read))
    }
}

impl fmt::Debug for ExternalTester {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.capabilities.name)
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct LoadSpec {
    pub url: String,
    /// Over all threads.
    pub connections: u64,
    /// Cores that it is pinned to.
    pub cores: Vec<usize>,
    pub duration: Duration,
    /// Requests after which it ends, if its duration is not over; a tester that knows one limit only gets this one.
    pub requests: Option<u64>,
    /// Requests per second over all connections; `None` is the closed loop.
    pub rate: Option<f64>,
    /// Whether a connection carries more than one request.
    pub keepalive: bool,
    /// Time after which a request without a reply has failed; `None` leaves it to the tester.
    pub timeout: Option<Duration>,
    /// Directory of [`ExternalTester::file`].
    pub dir: String,
}

impl LoadSpec {
    pub fn new(cell: &Cell, port: u16, dir: &Path) -> Result<Self, String> {
        Ok(Self {
            url: cell.url((Ipv4Addr::LOCALHOST, port).into())?,
            connections: cell.connections(),
            cores: cell.placement.client.0.clone(),
            duration: cell.settings.duration.0,
            requests: cell.settings.requests,
            rate: cell.rate(),
            keepalive: cell.settings.keeps_alive(),
            timeout: cell.settings.timeout.map(|timeout| timeout.0),
            dir: dir.display().to_string(),
        })
    }

    /// Whether over TLS; certificates of targets are self-signed.
    pub(super) fn uses_tls(&self) -> bool {
        self.url.starts_with("https://")
    }

    /// One thread for each core, at most one for each connection.
    pub(super) fn threads(&self) -> u64 {
        (self.cores.len() as u64).clamp(1, self.connections.max(1))
    }

    /// The command line: these words, flags with a value, flags of their own, the address.
    pub(super) fn line<'f, const V: usize, const F: usize>(
        &self,
        first: &[&str],
        valued: [(&'f str, Option<String>); V],
        flags: [(&'f str, bool); F],
    ) -> Vec<String> {
        let valued = valued.into_iter().filter_map(|(flag, value)| Some([flag.to_owned(), value?])).flatten();
        let flags = flags.into_iter().filter(|(_, is_set)| *is_set).map(|(flag, _)| flag.to_owned());
        first.iter().map(|word| (*word).to_owned()).chain(valued).chain(flags).chain([self.url.clone()]).collect()
    }

    /// Requests per second of one connection.
    pub(super) fn rate_each(&self) -> Option<String> {
        self.rate.map(|rate| (rate / self.connections.max(1) as f64).to_string())
    }

    /// What ends the load: `-n` with the number of requests, else this flag with the duration in milliseconds.
    pub(super) fn end<'f>(&self, duration: &'f str) -> (&'f str, Option<String>) {
        match self.requests {
            Some(requests) => ("-n", Some(requests.to_string())),
            None => (duration, Some(Self::millis(self.duration))),
        }
    }

    pub(super) fn millis(time: Duration) -> String {
        format!("{}ms", time.as_millis())
    }

    /// Whole seconds, rounded up, at least one.
    pub(super) fn seconds(time: Duration) -> u64 {
        (time.as_millis().div_ceil(1000) as u64).max(1)
    }
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct ParsedOutput {
    /// Duration by its own clock.
    pub measured_s: f64,
    pub completed: u64,
    /// Service time; response time at a rate with [`Capabilities::corrects_coordinated_omission`].
    pub times: LatencySummary,
    pub errors: Errors,
    pub opened: Option<u64>,
    /// Bytes including heads.
    pub received: Option<u64>,
    pub body_bytes: Option<u64>,
    /// Replies by status, or by class (`2xx`) if it reports only that.
    pub statuses: BTreeMap<String, u64>,
}

/// The latency figures that `us` has, in microseconds, under `mean`, `max` and percentages such as `99.9`.
pub(super) fn summary(count: u64, us: impl Fn(&str) -> Option<f64>) -> LatencySummary {
    let [mean_us, p50_us, p90_us, p95_us, p99_us, p999_us, max_us] =
        ["mean", "50", "90", "95", "99", "99.9", "max"].map(us);
    LatencySummary { count, mean_us, p50_us, p90_us, p95_us, p99_us, p999_us, max_us, ..LatencySummary::default() }
}

impl ParsedOutput {
    /// Counts replies with this status; all but 2xx and 3xx have failed.
    pub(super) fn replies(&mut self, status: u32, count: u64) {
        *(if (200..400).contains(&status) { &mut self.completed } else { &mut self.errors.status }) += count;
        self.statuses.insert(status.to_string(), count);
    }
}

impl ExternalTester {
    /// The figures that it does not report, and why. `is_open`: at a rate; `counts_bytes`: it has told them, heads included.
    pub(crate) fn absent(&self, is_open: bool, counts_bytes: bool) -> BTreeMap<String, String> {
        let corrects = self.capabilities.corrects_coordinated_omission;
        let mut absent: BTreeMap<String, String> =
            self.absent.iter().map(|(figure, why)| ((*figure).to_owned(), (*why).to_owned())).collect();
        for (figure, why) in self.untold {
            for times in ["service", "response"] {
                absent.insert(format!("latency.{times}.{figure}"), (*why).to_owned());
            }
        }
        let sends = "starts its clock when it sends, not when the request was due: see service";
        for (figure, why, is_absent) in [
            ("latency.lag", "does not say how late it sent by its own fault", true),
            ("sends", "does not say when it sends", true),
            ("latency.first_byte", "is not read for the time to the first byte of a reply", true),
            ("requests.unanswered", "does not count requests that it left without a reply", true),
            ("connections.connect_rate_per_s", "does not say how fast it opened connections", true),
            ("connections.served_percent", "does not count replies by connection", true),
            ("connections.jain_index", "does not count replies by connection", true),
            ("responses.lenient", "does not say which replies it read leniently", true),
            ("responses.lenient_rules", "does not say which replies it read leniently", true),
            ("responses.refused_rules", "does not say by which rule it refused replies", true),
            ("bytes.sent", "does not count what it sends", true),
            ("generator.instructions_user_per_request", "is metered for its CPU time alone", true),
            ("generator.spin_percent", "does not say how much of its CPU time is waiting", true),
            ("bytes.received", "does not count the heads of replies", !counts_bytes),
            ("latency.service", "starts its clock when the request was due: see response", is_open && corrects),
            ("latency.response", sends, is_open && !corrects),
        ] {
            if is_absent {
                absent.entry(figure.to_owned()).or_insert(format!("{} {why}", self.capabilities.name));
            }
        }
        absent
    }

    /// The result without metered figures, and the reasons for absent ones.
    pub fn result(&self, ask: &LoadSpec, told: ParsedOutput) -> (RunResult, BTreeMap<String, String>) {
        let absent = self.absent(ask.rate.is_some(), told.received.is_some());
        let open = ask.rate.is_some();
        let (service, response) = match (open, self.capabilities.corrects_coordinated_omission) {
            (false, _) => (told.times.clone(), told.times),
            (true, true) => (LatencySummary::default(), told.times),
            (true, false) => (told.times, LatencySummary::default()),
        };
        let per_second = |count: u64| if told.measured_s > 0.0 { count as f64 / told.measured_s } else { 0.0 };
        let result = RunResult {
            load: result::Load {
                url: ask.url.clone(),
                mode: if open { "open" } else { "closed" }.to_owned(),
                arrival: open.then(|| "constant".to_owned()),
                connections: ask.connections,
                measured_s: told.measured_s,
                ..result::Load::default()
            },
            requests: result::Requests {
                completed: told.completed,
                failed: told.errors.total(),
                rate: per_second(told.completed),
                offered_rate: ask.rate,
                ..result::Requests::default()
            },
            latency: result::Latency { response, service, ..result::Latency::default() },
            errors: told.errors,
            connections: result::Connections {
                opened: told.opened.unwrap_or(0),
                peak: ask.connections,
                ..result::Connections::default()
            },
            bytes: result::Bytes::of(0, told.received.unwrap_or(0)),
            responses: Some(Responses::of(told.statuses, told.body_bytes)),
            generator: Generator { cores: ask.cores.clone(), ..Generator::default() },
            ..RunResult::new(self.capabilities.name)
        };
        (result, absent)
    }
}
