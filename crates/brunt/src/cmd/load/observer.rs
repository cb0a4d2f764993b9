//! Observes a running load: metering windows, series lines, progress, Ctrl-C, SIGUSR1.

use super::{counts::CountsFile, gone::Gone, meter::Meter, on::Watched, there::Probing};
use brunt_load::Observer;
use brunt_meter::everyone::Everyone;
use brunt_meter::neighbours::{self, Neighbour};
use brunt_meter::{HostMeter, generator::GeneratorMeter};
use brunt_results::result::Probe;
use brunt_results::series::{Line, Second};
use brunt_results::verdict::ValidityIssue;
use brunt_results::{RunResult, counts::Counts, directory::SeriesWriter, start::LoadStart};
use brunt_view::{course::Course, metrics::Sinks, progress::Progress};
use hdrhistogram::Histogram;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use std::{io, sync::Arc};

/// Why figures of the load threads are absent that only their own machine can read.
pub(super) const ON_AGENTS: &str = "agents of a fleet made the load";
/// Other processes that a verdict names, at most.
const NAMED: usize = 3;

/// Pages of the load so far, printed when `asked` is set.
#[derive(Debug)]
pub(super) struct Pages {
    asked: Arc<AtomicBool>,
    course: RefCell<Course>,
}

impl Pages {
    pub(super) fn new(asked: Arc<AtomicBool>, start: LoadStart) -> Self {
        Self { asked, course: RefCell::new(Course::new(start)) }
    }
}

pub(super) struct LoadObserver {
    server: Option<Meter>,
    probe: Option<Probing>,
    /// What it has seen, or why nothing.
    probed: Option<Result<Probe, String>>,
    generator: Option<GeneratorMeter>,
    host: HostMeter,
    series: Option<SeriesWriter>,
    counts: Option<CountsFile>,
    sinks: Sinks,
    write_error: Option<io::Error>,
    stop: Arc<AtomicBool>,
    progress: Progress,
    pages: Pages,
    gone: Gone,
    /// The load threads are those of agents.
    agents: Option<Watched>,
    /// When the load began.
    started: Instant,
    /// The process of the server that exited before the end of the window, and when that was noticed.
    exited: Cell<Option<(u32, Instant)>>,
    /// Processes that took over from one that exited, and when that exit was noticed, in seconds after the load began.
    successors: Vec<(f64, u32)>,
    /// At the start of the window.
    everyone: Option<Arc<Everyone>>,
    busiest: Vec<Neighbour>,
}

impl LoadObserver {
    pub(super) fn new(
        server: Option<Meter>,
        series: Option<SeriesWriter>,
        counts: Option<CountsFile>,
        sinks: Sinks,
        stop: Arc<AtomicBool>,
        progress: Progress,
        pages: Pages,
    ) -> Self {
        let gone = Gone::new(pages.course.borrow().is_counted());
        Self {
            server,
            probe: None,
            probed: None,
            generator: None,
            host: HostMeter::attach(),
            series,
            counts,
            sinks,
            write_error: None,
            stop,
            progress,
            pages,
            gone,
            agents: None,
            started: Instant::now(),
            exited: Cell::new(None),
            successors: Vec::new(),
            everyone: None,
            busiest: Vec::new(),
        }
    }

    /// Another machine probes the target during the window.
    pub(super) fn probe(&mut self, probe: Option<Probing>) {
        self.probe = probe;
    }

    /// What it has seen, or why nothing.
    pub(super) fn probed(&mut self) -> Option<Result<Probe, String>> {
        self.probed.take()
    }

    /// The load threads are those of agents; says how their run is called.
    #[cfg(feature = "fleet")]
    pub(super) fn begin_on_agents(&mut self, run: &str, agents: Watched) {
        self.agents = Some(agents);
        self.progress.line(&format!("run {run}: 'brunt fleet stop {run}' ends it"));
    }

    /// The exit of the server before the end of the window, if it exited.
    pub(super) fn server_exit(&self) -> Option<ValidityIssue> {
        let (pid, at) = self.exited.get()?;
        Some(ValidityIssue::ServerExited { pid, after_s: at.duration_since(self.started).as_secs_f64() })
    }

    /// The busiest other processes of the window, if any was busy.
    pub(super) fn neighbours(&self) -> Option<ValidityIssue> {
        let busiest = self.busiest.iter().map(|one| (one.name.clone(), one.cpu_percent)).collect::<Vec<_>>();
        (!busiest.is_empty()).then_some(ValidityIssue::Neighbours { busiest })
    }

    /// Says how many lines of counts were lost, if any were.
    pub(super) fn lost_counts(&self) -> Option<String> {
        self.counts.as_ref().and_then(CountsFile::lost)
    }

    /// Tells of the doubts that the last second gives.
    fn doubt(&mut self) {
        if self.progress.is_quiet() {
            return;
        }
        let exit = self.server_exit();
        self.pages.course.get_mut().doubts(exit.as_ref()).iter().for_each(|line| self.progress.line(line));
    }

    fn look_for_exit(&self) {
        if self.exited.get().is_none()
            && let Some(pid) = self.server.as_ref().and_then(Meter::exited)
        {
            self.exited.set(Some((pid, Instant::now())));
        }
    }

    /// Goes on with the process that took over from one that exited, if one did.
    fn follow_successor(&mut self) {
        let Some((pid, at)) = self.exited.get() else { return };
        if let Some(successor) = self.server.as_mut().and_then(Meter::renew) {
            self.exited.set(None);
            let after_s = at.duration_since(self.started).as_secs_f64();
            self.successors.push((after_s, successor));
            self.progress.line(&format!("server pid {pid} ended after {after_s:.1} s; pid {successor} serves now"));
        }
    }

    /// Those of the load, which outlive its other observers.
    pub(super) fn take_sinks(&mut self) -> Sinks {
        std::mem::take(&mut self.sinks)
    }

    /// Fills the metered figures into the result. Returns the reasons for absent figures and the first write error of series
    /// or counts.
    pub(super) fn end(mut self, result: &mut RunResult) -> (BTreeMap<String, String>, Option<io::Error>) {
        self.progress.end();
        let completed = result.requests.completed;
        let window = Duration::from_secs_f64(result.load.measured_s);
        let mut absent = match &self.generator {
            Some(generator) => generator.close(completed, window, &mut result.generator),
            None if self.agents.is_some() => brunt_meter::generator::all_absent(ON_AGENTS),
            None => brunt_meter::generator::all_absent("no load thread ran"),
        };
        if let Some(meter) = &mut self.server {
            let (server, missing) = meter.close(completed, window);
            result.server = server;
            absent.extend(missing);
        }
        let (host, missing) = self.host.close(window);
        result.host = host;
        absent.extend(missing);
        for outage in result.connections.outages.iter_mut().flatten() {
            let back = self.successors.iter().rev().find(|(noticed_s, _)| outage.is_about(*noticed_s));
            outage.back_as = back.map(|(_, pid)| *pid);
        }
        result.interrupted |= self.stop.load(Ordering::Relaxed);
        (absent, self.write_error)
    }
}

impl Observer for LoadObserver {
    fn started(&mut self, threads: &[u32]) {
        self.started = Instant::now();
        self.sinks.started();
        self.generator = self.agents.is_none().then(|| GeneratorMeter::attach(threads));
        self.server.iter_mut().for_each(Meter::search);
    }

    fn connecting(&mut self, opened: u64, of: u64) {
        self.progress.connecting(opened, of);
    }

    fn window_opened(&mut self) {
        self.probe.iter().for_each(Probing::begin);
        self.generator.iter_mut().for_each(GeneratorMeter::open);
        self.host.open();
        // Late, because reading connection state and every process of the machine takes time.
        self.everyone = Some(self.server.as_mut().map_or_else(|| Arc::new(Everyone::take()), Meter::open));
    }

    fn second(&mut self, second: &mut Second) {
        self.follow_successor();
        if let Some(meter) = &mut self.server {
            meter.sample(second);
        }
        self.generator.iter().for_each(|generator| generator.sample(second));
        self.host.sample(second);
        let line = Line::from(&*second);
        self.progress.second(&line);
        self.pages.course.get_mut().push(line);
        self.doubt();
        self.gone.add(second).iter().for_each(|line| self.progress.line(line));
    }

    fn recorded(&mut self, second: &Second, response: &Histogram<u64>) {
        if let Some(Err(error)) = self.series.as_mut().map(|series| series.push(second)) {
            self.series = None;
            self.write_error.get_or_insert(io::Error::new(error.kind(), format!("series.jsonl: {error}")));
        }
        self.sinks.take(second, response);
    }

    fn counts(&mut self, counts: &Counts) {
        if let Some(Err(error)) = self.counts.as_mut().map(|file| file.write(counts)) {
            self.counts = None;
            self.write_error.get_or_insert(error);
        }
    }

    fn window_closed(&mut self) {
        self.look_for_exit();
        self.follow_successor();
        self.generator.iter_mut().for_each(GeneratorMeter::stop);
        self.host.stop();
        self.server.iter_mut().for_each(Meter::stop);
        self.probed = self.probe.take().map(Probing::end);
        let service = self.server.iter().flat_map(Meter::service_pids);
        let ours: Vec<u32> = service.chain([std::process::id()]).collect();
        self.busiest = self.everyone.take().map_or(Vec::new(), |before| neighbours::busiest(&before, &ours, NAMED));
    }

    fn wants_stop(&self) -> bool {
        self.look_for_exit();
        let agents = self.agents.as_ref().map(|agents| agents.look(&self.progress)).unwrap_or_default();
        if self.pages.asked.swap(false, Ordering::Relaxed) {
            self.progress.print(&self.pages.course.borrow_mut().page(agents));
        }
        self.gone.is_gone() || self.stop.load(Ordering::Relaxed)
    }
}
