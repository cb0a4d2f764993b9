//! What a target has run before it is started and after it has been stopped. `after` runs to its end even where the run is
//! to end, for it undoes something; neither runs without a limit.

use super::{Failure, Stop, TrialContext, TrialGroup, TrialRunner};
use crate::{
    run::preflight,
    system::process_group::{Launch, ProcessGroup, STOP_TIMEOUT, describe_exit, last_lines},
};
use std::{
    fs::File,
    io,
    sync::atomic::Ordering,
    thread,
    time::{Duration, Instant},
};

/// Which of the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hook {
    Before,
    After,
}

impl TrialRunner<'_> {
    /// Runs it, if the target has it. What it leaves running in the background is returned, and ends with the value.
    pub(super) fn hook(
        &self,
        job: &TrialGroup,
        site: &TrialContext,
        which: Hook,
        tick: &mut dyn FnMut(&'static str),
    ) -> io::Result<Result<Option<ProcessGroup>, Stop>> {
        let (name, words) = match which {
            Hook::Before => ("before", &job.target.before),
            Hook::After => ("after", &job.target.after),
        };
        if words.is_empty() {
            return Ok(Ok(None));
        }
        let fail = |why: String, log: Vec<String>| Ok(Err(Stop::Failed(0, Failure { why, log })));
        let (mut words, env) = match (site.words(words), site.env(job)) {
            (Ok(words), Ok(env)) => (words, env),
            (Err(why), _) | (_, Err(why)) => return fail(why, Vec::new()),
        };
        let log = job.dir().join(format!("{name}.log"));
        let args = words.split_off(1);
        let launch = Launch {
            program: preflight::program(&words[0], &site.dir),
            args,
            dir: site.folder(),
            env,
            cores: Some(job.cell().placement.client.clone()),
            stdout: File::create(job.dir().join(format!("{name}.out")))?,
            stderr: File::create(&log)?,
        };
        let command = launch.words().join(" ");
        let mut group = match ProcessGroup::start(launch, self.ledger) {
            Ok(group) => group,
            Err(e) => return fail(format!("{name}: {e}"), Vec::new()),
        };
        let since = Instant::now();
        loop {
            if let Some(status) = group.ended() {
                if !status.success() {
                    return fail(format!("{name} '{command}' {}", describe_exit(status)), last_lines(&log, 3));
                }
                // The id of a group of which nothing runs may soon be another's.
                return Ok(Ok(group.is_running().then_some(group)));
            }
            if which == Hook::Before && self.stop.load(Ordering::Relaxed) {
                return Ok(Err(Stop::Interrupted));
            }
            if since.elapsed() > job.target.hook_timeout.0 {
                group.stop(STOP_TIMEOUT);
                let why = format!(
                    "{name} '{command}' did not end within {}: hook_timeout gives it longer",
                    job.target.hook_timeout
                );
                return fail(why, last_lines(&log, 3));
            }
            tick(name);
            thread::sleep(Duration::from_millis(5));
        }
    }
}
