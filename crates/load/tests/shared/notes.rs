//! What an observer of a run is told.

use brunt_load::Observer;
use brunt_results::series::Second;
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

/// An observer that notes its calls, their times and threads.
pub struct Notes {
    pub calls: Vec<(&'static str, Instant, ThreadId)>,
    pub seconds: Vec<Second>,
    stop_after: Option<Duration>,
    /// Counted from here, or from the opening of the window.
    pub since: Option<Instant>,
}

impl Notes {
    pub fn new(stop_after: Option<Duration>) -> Self {
        Self { calls: Vec::new(), seconds: Vec::new(), stop_after, since: None }
    }

    fn note(&mut self, call: &'static str) {
        self.calls.push((call, Instant::now(), thread::current().id()));
    }

    pub fn phases(&self) -> Vec<&'static str> {
        self.calls.iter().map(|call| call.0).collect()
    }
}

impl Observer for Notes {
    fn started(&mut self, threads: &[u32]) {
        assert_eq!(threads.len(), 2);
        for tid in threads {
            let name = std::fs::read_to_string(format!("/proc/self/task/{tid}/comm")).unwrap();
            assert!(name.starts_with("load-"), "{name}");
        }
        self.note("started");
    }
    fn window_opened(&mut self) {
        self.note("opened");
        self.since = Some(Instant::now());
    }
    fn second(&mut self, second: &mut Second) {
        second.server_rss_bytes = Some(4096);
        self.seconds.push(second.clone());
    }
    fn window_closed(&mut self) {
        self.note("closed");
    }
    fn wants_stop(&self) -> bool {
        self.stop_after.zip(self.since).is_some_and(|(after, since)| since.elapsed() > after)
    }
}
