//! Counts of the LC service's requests, from a source that the user names.
//!
//! Each source reads in a thread of its own, so that no call here waits. Counts that came since the last poll are added up to
//! one reading.

mod buckets;
mod child;
mod feed;
mod file;
mod get;
mod lines;
mod probe;
mod prometheus;
#[cfg(test)]
mod tests;

use crate::clock;
use crate::objective::Objective;
use crate::readings::{Reading, Requests};
use brunt_results::latency::share_beyond;
use brunt_results::secrets::without_users;
use child::Child;
use feed::Feed;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Where counts come from.
#[derive(Debug, Clone, PartialEq)]
pub enum From {
    /// Arguments of `brunt load`, which is started and ended.
    Load(Vec<String>),
    /// A file of counts that grows, or a named pipe.
    File(PathBuf),
    /// A program that prints counts, which is started and ended.
    Command(Vec<String>),
    /// A server that gets requests of its own: `tcp://HOST:PORT`, an echo, or `http://HOST[:PORT]/PATH`.
    Probe {
        url: String,
        /// From one request to the next; by default 5 ms while more evidence is wanted, else 20 ms.
        every: Option<Duration>,
    },
    /// The service's metrics in the text format of Prometheus.
    Prometheus {
        url: String,
        /// Name of a histogram of response times, without `_bucket`.
        histogram: String,
        every: Duration,
    },
}

/// For a line to a user.
impl fmt::Display for From {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, value) = match self {
            Self::Load(words) => ("load", words.join(" ")),
            Self::File(path) => ("file", path.display().to_string()),
            Self::Command(words) => ("command", words.join(" ")),
            Self::Probe { url, .. } => ("probe", url.clone()),
            Self::Prometheus { url, .. } => ("prometheus", url.clone()),
        };
        write!(f, "source: {name} {}", without_users(&value))
    }
}

/// From one look at metrics to the next, unless the user says.
pub const METRICS_EVERY: Duration = Duration::from_millis(500);
const LEAST_EVERY: Duration = Duration::from_millis(1);
/// For so long a load is started again where nothing listens, and how often.
const BEGIN: Duration = Duration::from_secs(10);
const AGAIN: Duration = Duration::from_millis(200);

/// A source that is being read. Dropped, it ends.
#[derive(Debug)]
pub struct Source {
    feed: Arc<Feed>,
    child: Option<Child>,
    retry: Option<Retry>,
    /// End of its window in seconds of CLOCK_MONOTONIC.
    newest: Option<(f64, Requests)>,
}

/// How `brunt load` is started again while the service does not listen yet.
#[derive(Debug)]
struct Retry {
    brunt: PathBuf,
    arguments: Vec<String>,
    slo: String,
    begin: Begin,
}

/// When a load is started again.
#[derive(Debug)]
struct Begin {
    next: Instant,
    until: Instant,
}

impl Begin {
    fn new(now: Instant) -> Self {
        Self { next: now + AGAIN, until: now + BEGIN }
    }

    /// Whether to start again now; `None` when that is over.
    fn step(&mut self, now: Instant) -> Option<bool> {
        let is_due = now >= self.next;
        if is_due {
            self.next = now + AGAIN;
        }
        (now < self.until).then_some(is_due)
    }
}

impl Source {
    /// Starts to read. `peak` is the service's highest rate, in requests a second; `brunt` this program.
    ///
    /// # Errors
    /// The source cannot be read, whatever happens later. A file or server that is not there yet is waited for.
    pub fn start(from: &From, objective: Objective, peak: Option<f64>, brunt: &Path) -> io::Result<Self> {
        // The rate of probes is not that of the service's users.
        let peak = peak.filter(|_| !matches!(from, From::Probe { .. }));
        let feed = Arc::new(Feed::new(peak));
        let mut retry = None;
        let child = match from {
            From::Load(arguments) => {
                let (brunt, slo) = (brunt.to_owned(), slo(objective)?);
                let child = Child::load(&feed, &brunt, arguments, &slo)?;
                retry = Some(Retry { brunt, arguments: arguments.clone(), slo, begin: Begin::new(clock::now()) });
                Some(child)
            }
            From::Command(command) => Some(Child::command(&feed, command)?),
            From::File(path) => {
                file::follow(&feed, path)?;
                None
            }
            From::Probe { url, every } => {
                probe::start(&feed, url, every.map(checked).transpose()?, objective)?;
                None
            }
            From::Prometheus { url, histogram, every } => {
                prometheus::start(&feed, url, histogram, checked(*every)?, objective)?;
                None
            }
        };
        Ok(Self { feed, child, retry, newest: None })
    }

    /// A source without a thread: counts come by [`Self::add`].
    #[cfg(test)]
    pub(crate) fn fed(peak: Option<f64>) -> Self {
        Self { feed: Arc::new(Feed::new(peak)), child: None, retry: None, newest: None }
    }

    #[cfg(test)]
    pub(crate) fn add(&self, counts: brunt_results::counts::Counts) {
        self.feed.add(counts);
    }

    /// Whether the policy waits for evidence: a probe sends more then, unless the user has set its pace.
    pub fn want_more(&self, wants_more: bool) {
        self.feed.want_more(wants_more);
    }

    /// Waits until there are new counts, or for so long.
    pub fn wait(&self, longest: Duration) {
        self.feed.wait(longest);
    }

    /// The counts since the poll before; if there are none, the same as then, older.
    pub fn poll(&mut self, now: Instant) -> Option<Reading<Requests>> {
        self.newest = self.feed.take().or(self.newest);
        let (end, value) = self.newest?;
        Some(Reading { value, age: self.feed.seconds(now) - end })
    }

    /// Starts `brunt load` again if the service did not listen yet. True while that may help.
    fn retries(&mut self, now: Instant) -> bool {
        let (Some(retry), Some(child)) = (&mut self.retry, &mut self.child) else { return false };
        if self.newest.is_some() || !child.is_refused() {
            return false;
        }
        let Some(is_due) = retry.begin.step(now) else { return false };
        if is_due {
            match Child::load(&self.feed, &retry.brunt, &retry.arguments, &retry.slo) {
                Ok(again) => *child = again,
                Err(_) => return false,
            }
        }
        true
    }

    /// Why nothing more will come.
    pub fn ended(&mut self, now: Instant) -> Option<String> {
        if self.retries(now) {
            return None;
        }
        self.child.as_mut().and_then(Child::ended).or_else(|| self.feed.failure())
    }

    /// What has gone wrong without an end of the source, each kind once.
    pub fn warning(&mut self) -> Option<String> {
        self.feed.warning()
    }
}

impl Drop for Source {
    fn drop(&mut self) {
        self.feed.stop();
    }
}

/// The objective as `brunt load` reads it.
fn slo(objective: Objective) -> io::Result<String> {
    let is_figure =
        |name: &&&str| share_beyond(name).is_some_and(|share| (1.0 - share - objective.quantile).abs() < 1e-9);
    let figure = ["p50", "p90", "p99", "p99.9"].iter().find(is_figure).copied();
    let why = || format!("brunt load has no quantile {}: choose p50, p90, p99 or p99.9", objective.quantile);
    Ok(format!("{}<{}us", figure.ok_or_else(|| invalid(why()))?, (objective.limit_ms * 1e3).round()))
}

fn checked(every: Duration) -> io::Result<Duration> {
    match every < LEAST_EVERY {
        true => Err(invalid(format!("every {every:?} is too often: give at least 1ms"))),
        false => Ok(every),
    }
}

fn invalid(why: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, why.into())
}
