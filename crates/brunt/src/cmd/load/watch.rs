//! What the command does while the generator runs: meters over the window, lines of the series, progress, Ctrl-C.

use super::progress::Progress;
use load::Observer;
use meter::{ServerMeter, host::HostCpu, own::OwnMeter};
use outcome::{directory::SeriesWriter, result::Server, series::Second};
use std::{
    collections::BTreeMap,
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

/// See the head of this file.
#[derive(Debug)]
pub(super) struct Watch {
    server: Option<ServerMeter>,
    own: Option<OwnMeter>,
    host_first: Option<HostCpu>,
    host_last: Option<HostCpu>,
    series: Option<SeriesWriter>,
    seconds_seen: usize,
    series_error: Option<io::Error>,
    stop: Arc<AtomicBool>,
    progress: Progress,
}

/// What was seen besides the generator's own report.
#[derive(Debug)]
pub(super) struct Seen {
    /// The server's figures, if it was metered.
    pub server: Option<Server>,
    /// User instructions of the generator for each request.
    pub instructions_per_request: Option<f64>,
    /// How long a load thread waited for its core, percent of the window.
    pub run_queue_wait_percent: Option<f64>,
    /// CPU time the hypervisor took, percent.
    pub steal_percent: Option<f64>,
    /// Why any of these figures is missing.
    pub absent: BTreeMap<String, String>,
    /// Somebody asked to end the run early.
    pub interrupted: bool,
    /// The first line of the series that could not be written.
    pub series_error: Option<io::Error>,
}

impl Watch {
    pub(super) fn new(
        server: Option<ServerMeter>,
        series: Option<SeriesWriter>,
        stop: Arc<AtomicBool>,
        progress: Progress,
    ) -> Self {
        Self {
            server,
            own: None,
            host_first: None,
            host_last: None,
            series,
            seconds_seen: 0,
            series_error: None,
            stop,
            progress,
        }
    }

    /// The figures, once all seconds of the run and the number of requests answered inside the window are known.
    pub(super) fn end(mut self, seconds: &[Second], completed: u64) -> Seen {
        self.progress.end();
        // The last part of a second may be complete only when every load thread has ended.
        for second in seconds.iter().skip(self.seconds_seen) {
            self.push(second);
        }
        let mut absent = BTreeMap::new();
        let server = self.server.as_mut().map(|meter| {
            let (server, missing) = meter.close(completed);
            absent.extend(missing);
            server
        });
        let instructions = match &self.own {
            Some(own) => own.instructions_per_request(completed),
            None => Err("no load thread ran".to_owned()),
        };
        let instructions =
            instructions.map_err(|why| absent.insert("generator.instructions_user_per_request".to_owned(), why)).ok();
        let run_queue_wait_percent = self.own.as_ref().and_then(OwnMeter::run_queue_wait_percent);
        if run_queue_wait_percent.is_none() {
            let why = "the kernel keeps no account of waiting, or a load thread had ended";
            absent.insert("generator.run_queue_wait_percent".to_owned(), why.to_owned());
        }
        let steal_percent = match (self.host_first, self.host_last) {
            (Some(first), Some(last)) => last.steal_percent_since(&first),
            _ => None,
        };
        if steal_percent.is_none() {
            let why = "/proc/stat could not be read at both ends of the measured window";
            absent.insert("steal_percent".to_owned(), why.to_owned());
        }
        Seen {
            server,
            instructions_per_request: instructions,
            run_queue_wait_percent,
            steal_percent,
            absent,
            interrupted: self.stop.load(Ordering::Relaxed),
            series_error: self.series_error,
        }
    }

    fn push(&mut self, second: &Second) {
        if let Some(Err(error)) = self.series.as_mut().map(|series| series.push(second)) {
            self.series = None;
            self.series_error = Some(io::Error::new(error.kind(), format!("series.jsonl: {error}")));
        }
    }
}

impl Observer for Watch {
    fn started(&mut self, threads: &[u32]) {
        self.own = Some(OwnMeter::attach(threads));
    }

    fn window_opened(&mut self) {
        self.server.iter_mut().for_each(ServerMeter::open);
        self.own.iter_mut().for_each(OwnMeter::open);
        self.host_first = HostCpu::now();
    }

    fn second(&mut self, second: &mut Second) {
        if let Some(meter) = &mut self.server {
            meter.sample(second);
        }
        self.seconds_seen += 1;
        self.push(second);
        self.progress.second(second);
    }

    fn window_closed(&mut self) {
        self.server.iter_mut().for_each(ServerMeter::stop);
        self.own.iter_mut().for_each(OwnMeter::stop);
        self.host_last = HostCpu::now();
    }

    fn wants_stop(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}
