//! Slices by an external tester: each is a run of its program, which opens connections of its own and reports what it counted.
//!
//! A run includes its start and its connecting: the target's CPU time over the whole run is divided by all replies that the tester
//! counts. Rate and times are those that it reports.

use crate::clock;
use crate::plan::tester::Capabilities;
use crate::run::endpoint::Endpoint;
use crate::run::tester_window::{TesterWindow, busiest_percent};
use crate::run::trial::{TESTER_LOG, TESTER_OUT, TrialRunner, TrialSpec};
use crate::schedule::Cell;
use crate::slices::{Loader, SliceError, SliceSpec};
use crate::system::process_group::{Launch, ProcessGroup, STOP_TIMEOUT, describe_exit, last_lines};
use crate::testers::external::{ExternalTester, LoadSpec, ParsedOutput};
use brunt_meter::ExitWatch;
use brunt_meter::process::cpu_of;
use brunt_results::{LatencySummary, Span, result::Load};
use brunt_slices::Slice;
use std::fs::{self, File};
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Pause between looks at a run.
const LOOK: Duration = Duration::from_millis(20);

/// Runs of one tester against one target.
pub(super) struct TesterRuns<'a> {
    runner: &'a TrialRunner<'a>,
    external: &'static ExternalTester,
    /// With the length of the run to come.
    cell: Cell,
    /// Directory of its output; each run overwrites that of the one before.
    dir: PathBuf,
    port: u16,
    target: u32,
    seed: u64,
    load: Load,
}

/// A run that has ended well.
struct Run {
    took: Duration,
    cpu: Duration,
    window: TesterWindow,
}

impl<'a> TesterRuns<'a> {
    pub(super) fn new(
        runner: &'a TrialRunner<'a>,
        external: &'static ExternalTester,
        trial: &TrialSpec,
        port: u16,
        target: u32,
        seed: u64,
    ) -> Result<Self, String> {
        let spec = LoadSpec::new(trial.cell, port, &trial.dir)?;
        let (result, _) = external.result(&spec, ParsedOutput::default());
        let (cell, dir) = (trial.cell.clone(), trial.dir.clone());
        Ok(Self { runner, external, cell, dir, port, target, seed, load: result.load })
    }

    fn capabilities(&self) -> &'static Capabilities {
        self.external.capabilities
    }

    /// One run of this length, as a slice.
    fn run(&mut self, length: Duration) -> Result<Slice, String> {
        let name = self.capabilities().name;
        self.cell.settings.duration = Span(length);
        let with_log = |why: String, file: &str| {
            let log = last_lines(&self.dir.join(file), 1);
            format!("{name}{why}{}", log.first().map_or(String::new(), |line| format!(": {line}")))
        };
        let run = self.make().map_err(|(why, file)| with_log(format!(" {why}"), file))?;
        let parsed = self.external.parsed(&self.dir, TESTER_OUT);
        let parsed = parsed.map_err(|why| with_log(format!(": {why}"), TESTER_OUT))?;
        if parsed.measured_s <= 0.0 {
            return Err(format!("{name}: its output tells of a run of {} s", parsed.measured_s));
        }
        Ok(self.reported(run, parsed))
    }

    /// Runs the program to its end. The error has the file that may say more.
    fn make(&self) -> Result<Run, (String, &'static str)> {
        let told = |why: String| (why, TESTER_LOG);
        let request = self.runner.request;
        let command = request.tester_command(&self.cell, &Endpoint::here(self.port, self.target), self.seed, &self.dir);
        let (program, args) = command.map_err(told)?;
        // What an earlier run wrote must not pass for this one's.
        self.external.file.map(|file| fs::remove_file(self.dir.join(file)));
        let create = |file: &str| File::create(self.dir.join(file)).map_err(|e| told(format!("{file}: {e}")));
        let launch = Launch {
            cores: Some(self.cell.placement.client.clone()),
            ..Launch::new(program, args, create(TESTER_OUT)?, create(TESTER_LOG)?)
        };
        let started = clock::now();
        let mut tester = ProcessGroup::start(launch, self.runner.registry).map_err(|e| told(e.to_string()))?;
        let window = self.wait(&tester, started).map_err(told)?;
        let took = clock::since(started);
        // The kernel keeps the account of an ended process until its status is collected.
        let cpu = cpu_of(tester.pid()).unwrap_or_default();
        let status = tester.ended();
        tester.stop(STOP_TIMEOUT);
        match status {
            Some(status) if !status.success() => Err(told(describe_exit(status))),
            _ => Ok(Run { took, cpu, window }),
        }
    }

    /// Waits until the program has ended; meters it meanwhile.
    fn wait(&self, tester: &ProcessGroup, started: Instant) -> Result<TesterWindow, String> {
        let limit = self.runner.request.tester.limit(&self.cell);
        let watch = ExitWatch::of(&[tester.pid(), self.target]);
        let mut window = TesterWindow::default();
        loop {
            match watch.wait(LOOK) {
                Some(ended) if ended == tester.pid() => return Ok(window),
                Some(_) => return Err("was ended because the target has ended".to_owned()),
                None if self.runner.stop.load(Ordering::Relaxed) => return Err("was interrupted".to_owned()),
                None if clock::since(started) > limit => {
                    return Err(format!("did not end within {} s", limit.as_secs()));
                }
                None => window.tick(tester.pid(), clock::since(started), self.cell.settings.duration.0, false),
            }
        }
    }

    fn reported(&self, run: Run, parsed: ParsedOutput) -> Slice {
        let is_response = self.load.mode == "closed" || self.capabilities().corrects_coordinated_omission;
        let (took, cores) = (run.took.as_secs_f64() * 1e6, &self.cell.placement.client.0);
        let of_a_core = run.cpu.as_secs_f64() * 1e6 / took / cores.len().max(1) as f64;
        let usage = run.window.usage().ok();
        let waited = usage.as_ref().and_then(|usage| usage.run_queue_wait_percent).unwrap_or(0.0);
        let (latency, service_latency) = match is_response {
            true => (parsed.times, None),
            false => (LatencySummary::default(), Some(parsed.times)),
        };
        Slice {
            window_us: (parsed.measured_s * 1e6) as u64,
            busy_us: took as u64,
            completed: parsed.completed,
            replies: parsed.completed + parsed.errors.status,
            failed: parsed.errors.total(),
            errors: parsed.errors,
            generator_cpu_us: run.cpu.as_secs_f64() * 1e6,
            generator_percent: usage.map_or(of_a_core * 100.0, |usage| busiest_percent(&usage, cores)),
            waited_us: waited / 100.0 * took,
            received_bytes: parsed.received.unwrap_or(0),
            body_bytes: parsed.body_bytes,
            // h2load counts classes of statuses only.
            statuses: parsed
                .statuses
                .iter()
                .filter_map(|(status, count)| Some((status.parse().ok()?, *count)))
                .collect(),
            opened: parsed.opened,
            latency,
            service_latency,
            ..Slice::default()
        }
    }
}

impl Loader for TesterRuns<'_> {
    fn slice(&mut self, spec: &SliceSpec) -> Result<Slice, SliceError> {
        self.run(spec.lead + spec.window).map_err(SliceError::Target)
    }

    fn threads(&self) -> &[u32] {
        &[]
    }

    fn load(&self) -> &Load {
        &self.load
    }

    fn starts_anew(&self) -> bool {
        true
    }
}
