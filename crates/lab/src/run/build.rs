//! Builds a target before its first trial.

use super::preflight::{folder, program};
use crate::clock::poll;
use crate::plan::Target;
use crate::system::process_group::{Launch, ProcessGroup, describe_exit, last_lines};
use crate::system::process_registry::ProcessRegistry;
use brunt_meter::poll::every;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::{fs::File, io, process::ExitStatus, sync::Arc, time::Duration};

/// Runs the build of a target, with its output in `log`; the error says why it failed. `None` if the user stopped it.
pub(crate) fn build(
    target: &Target,
    base: &Path,
    log: &Path,
    registry: &Arc<ProcessRegistry>,
    stop: &AtomicBool,
) -> Option<Result<(), String>> {
    Some(match run(&target.build, &folder(target, base), log, registry, stop) {
        Ok((_, None)) => return None,
        Ok((_, Some(status))) if status.success() => Ok(()),
        Ok((command, Some(status))) => {
            let (tail, how) = (last_lines(log, 5).join(" | "), describe_exit(status));
            Err(format!("the build '{command}' {how}: {tail} (all of it: {})", log.display()))
        }
        Err(e) => Err(format!("the build cannot be started: {e}")),
    })
}

/// Runs a command; returns it as text, and its status unless the user stopped it.
pub(crate) fn run(
    words: &[String],
    dir: &Path,
    log: &Path,
    registry: &Arc<ProcessRegistry>,
    stop: &AtomicBool,
) -> io::Result<(String, Option<ExitStatus>)> {
    let stdout = File::create(log)?;
    let dir = std::path::absolute(dir)?;
    let (program, args) = (program(&words[0], &dir), words[1..].to_vec());
    let stderr = stdout.try_clone()?;
    let launch = Launch { dir: Some(dir), ..Launch::new(program, args, stdout, stderr) };
    let command = launch.words().join(" ");
    let mut process = ProcessGroup::start(launch, registry)?;
    let status = poll(Duration::MAX, every(20), || match process.ended() {
        None if stop.load(Ordering::Relaxed) => Some(None),
        status => status.map(Some),
    });
    Ok((command, status.flatten()))
}
