//! Follows directories for browsers: one thread for each directory, however many pages show it, as long as any does.
//!
//! ```text
//! files --> Source --> snapshot --> latest --> a stream of server-sent events for each page
//! ```

use super::jobs::Jobs;
use super::results::leads_out;
use crate::live::{Source as Files, snapshot};
use brunt_serve::http::handler::{Content, Piece, Source};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

/// Time between two looks of a stream at the latest snapshot.
const PAUSE: Duration = Duration::from_millis(100);
/// Without news, the time after which a comment shows whether the browser is still there.
const SILENCE: Duration = Duration::from_secs(5);
/// Streams at a time.
const MOST: usize = 64;

#[derive(Debug, Default)]
pub(super) struct Watchers {
    all: Mutex<HashMap<PathBuf, Weak<Watcher>>>,
    streams: Arc<AtomicUsize>,
    /// Streams end.
    closing: Arc<AtomicBool>,
}

/// The latest snapshot of a directory.
#[derive(Debug, Default)]
struct Watcher {
    latest: Mutex<Latest>,
}

#[derive(Debug, Default, Clone)]
struct Latest {
    version: u64,
    event: Arc<str>,
    /// No other follows.
    is_last: bool,
}

impl Watcher {
    fn latest(&self) -> MutexGuard<'_, Latest> {
        self.latest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn publish(&self, state: &Value, is_last: bool) {
        let event = format!("event: state\ndata: {state}\n\n").into();
        let mut latest = self.latest();
        *latest = Latest { version: latest.version + 1, event, is_last };
    }
}

/// Counts the open streams.
struct Place(Arc<AtomicUsize>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Watchers {
    /// The events of a directory, until its load has ended; `None` if there are too many streams.
    pub fn stream(&self, dir: &Path, jobs: Option<&Arc<Jobs>>) -> Option<Content> {
        let place = Place(Arc::clone(&self.streams));
        if self.streams.fetch_add(1, Ordering::SeqCst) >= MOST {
            return None;
        }
        let watcher = self.watcher(dir, jobs)?;
        let closing = Arc::clone(&self.closing);
        let (mut seen, mut told, mut has_ended) = (0, Instant::now(), false);
        Some(Content::Live(Source::new(move || {
            let _held = &place;
            let latest = watcher.latest();
            if has_ended || closing.load(Ordering::SeqCst) {
                return Piece::End;
            }
            let text = match () {
                () if latest.version != seen => {
                    seen = latest.version;
                    latest.event.as_bytes()
                }
                () if latest.is_last => {
                    has_ended = true;
                    b"event: end\ndata: {}\n\n"
                }
                () if told.elapsed() > SILENCE => b":\n\n",
                () => return Piece::Pause(PAUSE),
            };
            told = Instant::now();
            Piece::Bytes(text.into())
        })))
    }

    fn watcher(&self, dir: &Path, jobs: Option<&Arc<Jobs>>) -> Option<Arc<Watcher>> {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|_, watcher| watcher.strong_count() > 0);
        // One that has ended is not asked again: the directory may have another load.
        let known = all.get(dir).and_then(Weak::upgrade).filter(|watcher| !watcher.latest().is_last);
        if known.is_some() {
            return known;
        }
        let watcher = Arc::<Watcher>::default();
        let (seen, place, jobs) = (Arc::downgrade(&watcher), dir.to_owned(), jobs.cloned());
        thread::Builder::new().name("watch".to_owned()).spawn(move || follow(&place, &seen, jobs.as_deref())).ok()?;
        all.insert(dir.to_owned(), Arc::downgrade(&watcher));
        Some(watcher)
    }

    /// Waits until every stream has sent its end, or for `most`; then they end anyway.
    pub fn close(&self, most: Duration) {
        let until = Instant::now() + most;
        while self.streams.load(Ordering::SeqCst) > 0 && Instant::now() < until {
            thread::sleep(PAUSE / 4);
        }
        self.closing.store(true, Ordering::SeqCst);
    }
}

/// Publishes new snapshots until the load has ended or no stream is open.
fn follow(dir: &Path, watcher: &Weak<Watcher>, jobs: Option<&Jobs>) {
    let mut files = Files::new(dir);
    let (mut is_found, mut before) = (false, None);
    loop {
        let Some(watcher) = watcher.upgrade() else { return };
        let job = jobs.and_then(|jobs| jobs.state(dir));
        let is_new = match look(&mut files, &mut is_found, dir) {
            Ok(is_new) => is_new,
            Err(why) => return watcher.publish(&json!({ "error": why, "job": job }), true),
        };
        if is_found && (is_new || job != before || watcher.latest().version == 0) {
            let mut state = snapshot(files.model());
            state["job"] = json!(job);
            let is_running = job.as_ref().is_some_and(|job| job["running"] == true);
            let is_last = files.is_over() && !is_running;
            watcher.publish(&state, is_last);
            if is_last {
                return;
            }
        } else if is_found && files.is_over() {
            watcher.latest().is_last = true;
            return;
        }
        before = job;
        drop(watcher);
        thread::sleep(files.pause());
    }
}

/// Reads what is new.
fn look(files: &mut Files, is_found: &mut bool, dir: &Path) -> Result<bool, String> {
    if !*is_found {
        if let Some(link) = leads_out(dir) {
            return Err(link);
        }
        *is_found = files.is_found().map_err(|error| error.to_string())?;
        if !*is_found {
            return Ok(false);
        }
    }
    files.poll().map_err(|error| error.to_string())
}
