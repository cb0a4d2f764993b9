//! One tester run against a running target. If the target dies meanwhile, the trial fails whatever the tester wrote.

use super::colocation::{Company, Controller, counting_flags};
use super::external_meter::ExternalMeter;
use super::waits::until_tester_ends;
use super::{Result, RunningTarget, TARGET_LOG, TESTER_LOG, TESTER_OUT, TrialContext, TrialError, TrialRecord};
use crate::system::process_group::{Launch, ProcessGroup, STOP_TIMEOUT, describe_exit, last_lines};
use crate::testers::external;
use brunt_results::{RunResult, directory::Directory};
use std::{fs::File, path::Path, sync::atomic::Ordering, time::Duration};

impl TrialContext<'_> {
    /// Runs the tester for the trial of that index; writes the tester's command line to `record`.
    pub(super) fn load(
        &self,
        index: usize,
        record: &mut TrialRecord,
        target: &mut RunningTarget,
        tick: &mut dyn FnMut(&'static str),
    ) -> Result<RunResult> {
        let RunningTarget { process: target, endpoint, .. } = target;
        let (request, group) = (self.runner.request, self.group);
        let trial = &group.trials[index];
        let settings = &trial.cell.settings;
        let beside = request.plan.beside(settings.policy.as_deref(), settings.co_runner.as_deref());
        let beside = beside.map_err(|why| TrialError::failed(index, why, Vec::new()))?;
        let mut company = beside.map(|beside| self.company(index, trial.cell, beside, target, tick)).transpose()?;
        let (tester_log, tester_out) = (trial.dir.join(TESTER_LOG), trial.dir.join(TESTER_OUT));
        let fail = |why: String, log: &Path| TrialError::failed(index, why, last_lines(log, 3));
        let directory = Directory::open(&trial.dir);
        let command = request.tester_command(trial.cell, endpoint, group.seed, directory.path());
        let (program, mut args) = command.map_err(|why| TrialError::failed(index, why, Vec::new()))?;
        if let Some(slo) = company.as_ref().and_then(Company::slo) {
            args.extend(counting_flags(directory.path(), slo));
        }
        let launch = Launch {
            cores: Some(trial.cell.placement.client.clone()),
            ..Launch::new(program, args, File::create(&tester_out)?, File::create(&tester_log)?)
        };
        record.tester = launch.words();
        directory.write_json("trial.json", record)?;
        let external = settings.tester.as_deref().and_then(external);
        let mut meter =
            external.map(|_| ExternalMeter::open(target.pid(), &group.target.service, settings, &directory));
        let mut tester =
            ProcessGroup::start(launch, self.runner.registry).map_err(|e| fail(e.to_string(), &tester_log))?;
        tick("load");
        let controller = company.as_mut().and_then(|company| company.controller.as_mut());
        self.wait_for_tester(index, &mut tester, target, controller, &mut meter, tick)?;
        if let (Some(external), Some(meter)) = (external, meter) {
            meter
                .write(external, trial.cell, group.seed, endpoint.address.port(), &directory, &record.tester)?
                .map_err(|why| fail(why, &tester_out))?;
        }
        match directory.read_result() {
            Ok(result) if result.interrupted => Err(fail("the tester was interrupted".to_owned(), &tester_log)),
            Ok(result) => {
                company.map(|company| company.finish(index, &directory, &result)).transpose()?;
                Ok(result)
            }
            Err(e) => Err(fail(format!("the tester left no result: {e}"), &tester_log)),
        }
    }

    /// Waits until the tester has ended well, and ends what is left of its process group.
    fn wait_for_tester(
        &self,
        index: usize,
        tester: &mut ProcessGroup,
        target: &mut ProcessGroup,
        mut controller: Option<&mut Controller>,
        meter: &mut Option<ExternalMeter>,
        tick: &mut dyn FnMut(&'static str),
    ) -> Result<()> {
        let trial = &self.group.trials[index];
        let (limit, duration) = (self.runner.request.tester.limit(trial.cell), trial.cell.settings.duration.0);
        let fail = |why: String, log: &Path| TrialError::failed(index, why, last_lines(log, 3));
        let tester_failed = |how: String| fail(format!("the tester {how}"), &trial.dir.join(TESTER_LOG));
        let target_died = |status| {
            fail(format!("the target {} under load", describe_exit(status)), &self.group.dir().join(TARGET_LOG))
        };
        let ended = until_tester_ends(limit, meter.is_some().then_some(duration), || {
            if let Some(status) = tester.ended() {
                return Some(Ok(status));
            }
            if self.runner.stop.load(Ordering::Relaxed) {
                return Some(Err(TrialError::Interrupted));
            }
            if let Some(status) = target.ended() {
                tester.stop(Duration::ZERO);
                return Some(Err(target_died(status)));
            }
            if let Some((why, log)) = controller.as_mut().and_then(|one| Some((one.gone()?, one.log()))) {
                tester.stop(Duration::ZERO);
                return Some(Err(fail(why, &log)));
            }
            meter.iter_mut().for_each(|meter| meter.tick(tester.pid()));
            tick("load");
            None
        });
        let Some(ended) = ended else {
            tester.stop(STOP_TIMEOUT);
            return Err(tester_failed(format!("did not end within {} s", limit.as_secs())));
        };
        let status = ended?;
        meter.iter_mut().for_each(ExternalMeter::close);
        tester.stop(STOP_TIMEOUT);
        // Ctrl-C may reach the tester directly; its result is then not a whole trial.
        if self.runner.stop.load(Ordering::Relaxed) {
            return Err(TrialError::Interrupted);
        }
        match target.ended() {
            Some(status) => Err(target_died(status)),
            None if !status.success() => Err(tester_failed(describe_exit(status))),
            None => Ok(()),
        }
    }
}
