//! `slices.jsonl`: every slice of one load, one JSON object a line, in the order they were made. All figures of a report come
//! from it. Times are in microseconds.

use brunt_results::LatencySummary;
use brunt_results::figure::{COST, Figure, RATE};
use brunt_results::hlog::{Counts, decode};
use brunt_results::latency::add_censored;
use brunt_results::result::{Errors, SendCounts};
use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::fs;
use std::path::Path;

/// Name of the file in the directory of a load.
pub const FILE: &str = "slices.jsonl";

/// Share of a slice that the machine may take.
pub const LOST: f64 = 0.1;

/// One slice.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Slice {
    /// Launch of the targets, counted from 1.
    pub start: u32,
    /// Counted from 1 within its start.
    pub round: u32,
    /// Place in the random order of its round, counted from 0.
    pub position: u32,
    pub target: String,
    /// Begin of the slice, since the first slice of its start.
    pub at_us: u64,
    /// Length of the measured window.
    pub window_us: u64,
    /// From the first request to the last reply.
    pub busy_us: u64,
    /// Correct replies in the window.
    pub completed: u64,
    /// Replies of the whole slice: lead, window, drain.
    pub replies: u64,
    /// Failed requests of the whole slice.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub failed: u64,
    /// Requests without a reply at the end of the window.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unanswered: u64,
    /// Requests of the window that were never sent, or given up without a reply.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub abandoned: u64,
    /// Requests of the window that found every connection busy; absent in a closed loop and of other testers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waited: Option<u64>,
    #[serde(default, skip_serializing_if = "is_none")]
    pub errors: Errors,
    /// CPU time of the target over the whole slice, between two idle moments; absent if it is not metered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_cpu_us: Option<f64>,
    /// CPU time of the generator over the whole slice.
    pub generator_cpu_us: f64,
    /// CPU of the generator's busiest thread in the window, without waiting, in percent of a core.
    pub generator_percent: f64,
    /// Time that the machine took from the slice: the generator runnable without a core, and steal.
    #[serde(default)]
    pub lost_us: f64,
    /// Time that the busiest thread of an external tester waited for a core. It makes no round void: a run of a second or more
    /// always has some on a shared machine, and so have those of all targets.
    #[serde(default, skip_serializing_if = "is_zero_us")]
    pub waited_us: f64,
    /// CPU time that the idle targets used meanwhile, by name; those that used none are left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub idle_cpu_us: Vec<(String, f64)>,
    /// CPU time that other targets used for this one's requests, by name, as the backend of a proxy does.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shared_cpu_us: Vec<(String, f64)>,
    /// Resident memory of the target after the slice, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rss_bytes: Option<u64>,
    /// Payload bytes of the window.
    #[serde(default)]
    pub sent_bytes: u64,
    #[serde(default)]
    pub received_bytes: u64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub statuses: Vec<(u16, u64)>,
    /// Bytes of bodies in the window, where the generator counts them apart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body_bytes: Option<u64>,
    /// Connections opened, as the generator counts them, or else accepted in this network namespace during the slice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opened: Option<u64>,
    /// Response times of the window, with those of requests without a complete reply, exact to 0.1 %, or as an external tester
    /// reports them.
    pub latency: LatencySummary,
    /// Service times of an external tester that starts its clock when it sends, at a rate; `latency` has no figures then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_latency: Option<LatencySummary>,
    /// Distribution of the response times of requests with a reply, exact to 1 %: HdrHistogram V2 of nanoseconds, deflated, in
    /// base64; empty if the tester reports none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub response: String,
    /// How long requests without a complete reply have waited, if there are any; each counts as longer than every answered
    /// one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub censored: Option<String>,
    /// Service times of an open loop; of a closed loop they are the response times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service: Option<String>,
    /// How the requests of an open loop were sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sends: Option<SendCounts>,
    /// The generator's own lateness in an open loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lag: Option<String>,
}

/// Reads all slices of a load. The last line of a run that was killed while it wrote is left out.
pub fn read(path: &Path) -> Result<Vec<Slice>, String> {
    lines(path, "a slice")
}

/// The same of slices of one kind, as an error names it.
pub(crate) fn lines<T: DeserializeOwned>(path: &Path, kind: &str) -> Result<Vec<T>, String> {
    let bytes = fs::read(path).map_err(|e| format!("{}: {e}", path.display()))?;
    let mut slices = Vec::new();
    for (number, line) in (1..).zip(bytes.split_inclusive(|byte| *byte == b'\n')) {
        match serde_json::from_slice(line) {
            Ok(slice) => slices.push(slice),
            Err(_) if !line.ends_with(b"\n") => {}
            Err(e) => {
                return Err(format!("{}: line {number} is not {kind} ({e}): remove the line", path.display()));
            }
        }
    }
    Ok(slices)
}

/// The line of a slice, or of a slice at a rate.
pub fn line(slice: &impl Serialize) -> Vec<u8> {
    let mut line = serde_json::to_vec(slice).expect("a slice holds only numbers, text and lists");
    line.push(b'\n');
    line
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

fn is_zero_us(us: &f64) -> bool {
    *us == 0.0
}

pub(crate) fn is_none(errors: &Errors) -> bool {
    errors.total() == 0
}

impl Slice {
    /// Whether its round does not count, because the machine took too much of it.
    pub fn is_void(&self) -> bool {
        self.lost_us > LOST * self.busy_us as f64
    }

    /// Its line of the file.
    pub fn line(&self) -> Vec<u8> {
        line(self)
    }

    /// Correct replies a second of the window.
    pub fn rate(&self) -> f64 {
        self.completed as f64 / self.window_us as f64 * 1e6
    }

    /// One of [`FIGURES`](crate::FIGURES), of this slice alone.
    pub fn value(&self, figure: &Figure) -> Option<f64> {
        match figure {
            rate if *rate == RATE => Some(self.rate()),
            cost if *cost == COST => self.cpu_us_per_request(),
            times => self.latency.figure(times.times?.statistic).flatten(),
        }
    }

    /// CPU time of the target a reply, in microseconds.
    pub fn cpu_us_per_request(&self) -> Option<f64> {
        self.server_cpu_us.filter(|_| self.replies > 0).map(|cpu| cpu / self.replies as f64)
    }

    /// Whether it has the distribution of its response times, not only what a tester reports of it.
    pub fn has_distribution(&self) -> bool {
        !self.response.is_empty()
    }

    pub fn response(&self) -> Result<Histogram<u64>, String> {
        decode(&self.response)
    }

    /// How long requests without a complete reply have waited.
    pub fn censored(&self) -> Result<Option<Histogram<u64>>, String> {
        self.censored.as_deref().map(decode).transpose()
    }

    /// Its response times; those of requests without a complete reply are at least as long as its longest.
    pub fn counts(&self) -> Result<Counts, String> {
        let Some(censored) = self.censored()? else { return Counts::decode(&self.response) };
        let mut all = self.response()?;
        let longest = all.max();
        add_censored(&mut all, &censored, longest);
        Ok(Counts::of(&all))
    }

    /// Whether the figure is a lower bound, as it falls among requests without a complete reply.
    pub fn is_bound(&self, figure: &Figure) -> bool {
        figure.times.is_some_and(|times| self.latency.is_bound(times.statistic))
    }
}
