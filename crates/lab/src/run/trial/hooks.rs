//! `before` and `after` of a target. `after` runs to its end even if the run is being stopped, because it undoes
//! something; both have a time limit.

use super::waits::until_hook_ends;
use super::{Result, TrialContext, TrialError};
use crate::run::preflight;
use crate::system::process_group::{Launch, ProcessGroup, STOP_TIMEOUT, describe_exit, last_lines};
use std::{fs::File, sync::atomic::Ordering};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hook {
    Before,
    After,
}

impl TrialContext<'_> {
    /// Runs the hook, if the target has it. Returns the processes it leaves in the background; dropping them ends them.
    pub(super) fn hook(&self, which: Hook, tick: &mut dyn FnMut(&'static str)) -> Result<Option<ProcessGroup>> {
        let group = self.group;
        let (name, words) = match which {
            Hook::Before => ("before", &group.target.before),
            Hook::After => ("after", &group.target.after),
        };
        if words.is_empty() {
            return Ok(None);
        }
        let mut words = self.words(words)?;
        let (args, program) = (words.split_off(1), preflight::program(&words[0], &self.dir));
        let log = group.dir().join(format!("{name}.log"));
        let stdout = File::create(group.dir().join(format!("{name}.out")))?;
        let launch = Launch {
            dir: self.existing_dir(),
            env: self.env()?,
            cores: Some(group.cell().placement.client.clone()),
            ..Launch::new(program, args, stdout, File::create(&log)?)
        };
        let command = launch.words().join(" ");
        let mut process = ProcessGroup::start(launch, self.runner.registry)
            .map_err(|e| TrialError::failed(0, format!("{name}: {e}"), Vec::new()))?;
        let timeout = group.target.hook_timeout;
        let status = until_hook_ends(timeout.0, || {
            if let Some(status) = process.ended() {
                return Some(Ok(status));
            }
            if which == Hook::Before && self.runner.stop.load(Ordering::Relaxed) {
                return Some(Err(TrialError::Interrupted));
            }
            tick(name);
            None
        });
        let why = match status.transpose()? {
            // The id of a group without processes may be reused, so it must not be kept.
            Some(status) if status.success() => return Ok(process.is_running().then_some(process)),
            Some(status) => describe_exit(status),
            None => {
                process.stop(STOP_TIMEOUT);
                format!("did not end within {timeout}: raise hook_timeout")
            }
        };
        Err(TrialError::failed(0, format!("{name} '{command}' {why}"), last_lines(&log, 3)))
    }
}
