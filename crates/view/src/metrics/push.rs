//! `--push`: a bounded queue, and the thread that empties it into a collector.
//!
//! Each interval is sent once. It is sent again only if the collector was not reached or asks for that (OTLP 1.0, "Retryable
//! Response Codes"), since a collector would count it twice. Intervals that find the queue full are lost.

use super::endpoint::Collector;
use super::interval::Interval;
use super::otlp;
use crate::cores::leave;
use brunt_client::{Call, Client, Failure, Reply};
use brunt_results::Error;
use brunt_wire::http1::reason;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Intervals that wait, besides those that are being sent.
const QUEUE: usize = 64;
/// Intervals in one request.
const BATCH: usize = 64;
/// Time for one request.
const WITHIN: Duration = Duration::from_secs(2);
/// Of a reply, the bytes of the body that are kept.
const MOST_BODY: usize = 16 << 10;
/// Between two attempts.
const PAUSE: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub struct Push {
    queue: SyncSender<Interval>,
    /// Ends when the thread does.
    ended: Receiver<()>,
    given: u64,
    pushed: Arc<Pushed>,
    collector: String,
}

/// What became of the intervals.
#[derive(Debug, Default)]
struct Pushed {
    taken: AtomicU64,
    /// Why the first one was lost, or had to wait.
    trouble: Mutex<Option<String>>,
}

impl Push {
    /// Starts the thread, on no core of `cores`.
    pub fn start(collector: &Collector, url: &str, cores: &[usize]) -> Result<Self, Error> {
        let failed = |why: String| Error::Failed(format!("--push otlp={collector}: {why}"));
        let client = collector.client().map_err(failed)?;
        let (queue, waiting) = sync_channel(QUEUE);
        let (end, ended) = sync_channel(1);
        let pushed = Arc::new(Pushed::default());
        let (shared, cores, url) = (Arc::clone(&pushed), cores.to_vec(), url.to_owned());
        let path = collector.path.clone();
        let work = move || {
            leave(&cores);
            run(&waiting, |body| post(&client, &path, body), &url, &shared);
            drop(end);
        };
        thread::Builder::new().name("push".to_owned()).spawn(work).map_err(|error| failed(error.to_string()))?;
        Ok(Self { queue, ended, given: 0, pushed, collector: collector.to_string() })
    }

    pub fn add(&mut self, interval: Interval) {
        self.given += 1;
        // A full queue, or a thread that has panicked: counted as lost at the end.
        let _ = self.queue.try_send(interval);
    }

    /// Waits until all that was given is pushed, or until `until`. Says how much was not.
    pub fn end(self, until: Instant) -> Option<String> {
        let Self { queue, ended, given, pushed, collector } = self;
        drop(queue);
        let was_late =
            ended.recv_timeout(until.saturating_duration_since(Instant::now())) == Err(RecvTimeoutError::Timeout);
        let lost = given.saturating_sub(pushed.taken.load(Relaxed));
        let trouble = pushed.trouble().take();
        let late = || was_late.then(|| "no answer in time after the load".to_owned());
        let why = trouble.or_else(late).unwrap_or_else(|| "the queue was full".to_owned());
        (lost > 0).then(|| format!("{lost} of {given} intervals were not pushed to {collector}: {why}"))
    }
}

impl Pushed {
    fn trouble(&self) -> std::sync::MutexGuard<'_, Option<String>> {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What became of one request.
enum Outcome {
    Taken,
    /// The same request may be sent again.
    Again(String),
    Lost(String),
}

fn post(client: &Client, path: &str, body: &[u8]) -> Outcome {
    let fields: [(&str, &[u8]); 2] = [("Content-Type", b"application/json"), ("User-Agent", b"brunt")];
    let call = Call { method: "POST", target: path, fields: &fields, body: Some(body), most: MOST_BODY };
    outcome(client.send(&call, WITHIN))
}

fn run(queue: &Receiver<Interval>, post: impl Fn(&[u8]) -> Outcome, url: &str, pushed: &Pushed) {
    let resource = otlp::resource(url);
    let mut batch: Vec<Interval> = Vec::new();
    let mut open = true;
    while open {
        open = fill(&mut batch, queue);
        if batch.is_empty() {
            continue;
        }
        let outcome = post(&otlp::request(&batch, &resource));
        if matches!(outcome, Outcome::Taken) {
            pushed.taken.fetch_add(batch.len() as u64, Relaxed);
        }
        match outcome {
            Outcome::Again(why) if batch.len() < BATCH => drop(pushed.trouble().get_or_insert(why)),
            Outcome::Again(why) | Outcome::Lost(why) => {
                pushed.trouble().get_or_insert(why);
                batch.clear();
            }
            Outcome::Taken => batch.clear(),
        }
    }
}

/// Waits for the next interval, or before the same ones are sent again for a pause, and takes all that there are, up to a batch.
/// False once there will be no more.
fn fill(batch: &mut Vec<Interval>, queue: &Receiver<Interval>) -> bool {
    let until = Instant::now() + PAUSE;
    let is_retry = !batch.is_empty();
    while batch.len() < BATCH {
        match queue.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(interval) => batch.push(interval),
            Err(RecvTimeoutError::Timeout) => break,
            Err(RecvTimeoutError::Disconnected) => return false,
        }
        if !is_retry {
            batch.extend(queue.try_iter().take(BATCH - batch.len()));
            break;
        }
    }
    true
}

fn outcome(reply: Result<Reply, Failure>) -> Outcome {
    match reply {
        Ok(Reply { status: 200..=299, body, .. }) => otlp::rejected(&body).map_or(Outcome::Taken, Outcome::Lost),
        Ok(Reply { status, .. }) => {
            let why = format!("the collector answered {status} {}", reason(status)).trim_end().to_owned();
            if matches!(status, 429 | 502..=504) { Outcome::Again(why) } else { Outcome::Lost(why) }
        }
        Err(Failure { is_unsent: true, why }) => Outcome::Again(why),
        Err(Failure { is_unsent: false, why }) => Outcome::Lost(why),
    }
}
