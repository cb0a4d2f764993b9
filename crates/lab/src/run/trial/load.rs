//! One run of the tester against a target that runs: watched until it ends, then read. A target that dies meanwhile fails
//! it, whatever the tester wrote.

use super::{
    Failure, Stop, TARGET_LOG, TESTER_LOG, TESTER_OUT, TrialGroup, TrialRecord, TrialRunner,
    external_meter::ExternalMeter,
};
use crate::{
    plan::tester::BRUNT,
    system::process_group::{Launch, ProcessGroup, STOP_TIMEOUT, describe_exit, last_lines},
    testers::external,
};
use brunt_results::{RunResult, directory::Directory};
use std::{
    collections::BTreeMap,
    fs::File,
    io,
    path::Path,
    sync::atomic::Ordering,
    thread,
    time::{Duration, Instant},
};

impl TrialRunner<'_> {
    /// One run of the tester for the step of that index, against the target, which runs; notes what was started.
    pub(super) fn load(
        &self,
        job: &TrialGroup,
        index: usize,
        record: &mut TrialRecord,
        port: u16,
        target: &mut ProcessGroup,
        tick: &mut dyn FnMut(&'static str),
    ) -> io::Result<Result<RunResult, Stop>> {
        let step = &job.steps[index];
        let fail = |why: String, log: &Path| Ok(Err(Stop::Failed(index, Failure { why, log: last_lines(log, 3) })));
        let target_log = job.dir().join(TARGET_LOG);
        let (tester_log, tester_out) = (step.dir.join(TESTER_LOG), step.dir.join(TESTER_OUT));
        let directory = Directory::open(&step.dir);
        let settings = &step.cell.settings;
        let foreign = settings.tester.as_deref().and_then(external);
        let added = self.added.get(settings.tester.as_deref().unwrap_or(BRUNT)).map_or(&[][..], Vec::as_slice);
        let command = self.tester.command(step.cell, added, port, target.pid(), job.seed, directory.path());
        let (program, args) = match command {
            Ok(command) => command,
            Err(why) => return Ok(Err(Stop::Failed(index, Failure { why, log: Vec::new() }))),
        };
        let launch = Launch {
            program,
            args,
            dir: None,
            env: BTreeMap::new(),
            cores: Some(step.cell.placement.client.clone()),
            stdout: File::create(&tester_out)?,
            stderr: File::create(&tester_log)?,
        };
        record.tester = launch.words();
        directory.write_json("trial.json", record)?;
        let mut gauge = foreign.map(|_| ExternalMeter::open(target.pid(), settings.duration.0, &directory));
        let mut tester = match ProcessGroup::start(launch, self.ledger) {
            Ok(tester) => tester,
            Err(e) => return fail(e.to_string(), &tester_log),
        };
        gauge.iter_mut().for_each(|gauge| gauge.started(tester.pid()));
        let limit = self.tester.limit(step.cell);
        let since = Instant::now();
        tick("load");
        let status = loop {
            if let Some(status) = tester.ended() {
                break status;
            }
            if self.stop.load(Ordering::Relaxed) {
                return Ok(Err(Stop::Interrupted));
            }
            if let Some(status) = target.ended() {
                tester.stop(Duration::ZERO);
                return fail(format!("the target {} under load", describe_exit(status)), &target_log);
            }
            if since.elapsed() > limit {
                tester.stop(STOP_TIMEOUT);
                return fail(format!("the tester did not end within {} s", limit.as_secs()), &tester_log);
            }
            gauge.iter_mut().for_each(ExternalMeter::tick);
            // Rarely enough not to disturb a generator that shares this core.
            thread::sleep(gauge.as_ref().map_or(Duration::from_millis(50), ExternalMeter::pause));
            tick("load");
        };
        gauge.iter_mut().for_each(ExternalMeter::close);
        tester.stop(STOP_TIMEOUT);
        // Ctrl-C may reach a tester by itself; what it wrote is then not a whole trial.
        if self.stop.load(Ordering::Relaxed) {
            return Ok(Err(Stop::Interrupted));
        }
        if let Some(status) = target.ended() {
            return fail(format!("the target {} under load", describe_exit(status)), &target_log);
        }
        if !status.success() {
            return fail(format!("the tester {}", describe_exit(status)), &tester_log);
        }
        if let (Some(foreign), Some(gauge)) = (foreign, gauge)
            && let Err(why) = gauge.write(foreign, step.cell, job.seed, port, &directory, &record.tester)?
        {
            return fail(why, &tester_out);
        }
        match directory.read_result() {
            Ok(result) if result.interrupted => fail("the tester was interrupted".to_owned(), &tester_log),
            Ok(result) => Ok(Ok(result)),
            Err(e) => fail(format!("the tester left no result: {e}"), &tester_log),
        }
    }
}
