//! Counts of requests from a file that grows.

use crate::plan;
use crate::readings::{Reading, Requests};
use brunt_results::counts::Counts;
use std::io::{BufRead as _, BufReader};
use std::{fs::File, path::PathBuf, time::Instant};

#[derive(Debug)]
pub(super) struct Source {
    path: PathBuf,
    peak: Option<f64>,
    file: Option<BufReader<File>>,
    line: String,
    last: Option<(Instant, Requests)>,
}

impl Source {
    pub(super) fn start(plan: &plan::Source, peak: Option<f64>) -> Self {
        Self { path: plan.file.clone().unwrap_or_default(), peak, file: None, line: String::new(), last: None }
    }

    pub(super) fn poll(&mut self, now: Instant) -> Option<Reading<Requests>> {
        if self.file.is_none() {
            self.file = File::open(&self.path).ok().map(BufReader::new);
        }
        if let Some(file) = &mut self.file {
            while file.read_line(&mut self.line).is_ok_and(|length| length > 0) && self.line.ends_with('\n') {
                if let Ok(Counts { seconds, count, slow, latency_ms, offered, load, .. }) = Counts::of_line(&self.line)
                {
                    let rate = offered.unwrap_or(count as f64 / seconds);
                    let load = load.or(self.peak.map(|peak| rate / peak));
                    self.last = Some((now, Requests { seconds, count, slow, latency_ms, load }));
                }
                self.line.clear();
            }
        }
        self.last.map(|(at, value)| Reading { value, age: now.duration_since(at).as_secs_f64() })
    }

    pub(super) fn ended(&mut self) -> Option<String> {
        None
    }
}
