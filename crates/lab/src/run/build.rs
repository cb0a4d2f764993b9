//! Builds targets before the first trial.

use super::preflight::{folder, program};
use crate::plan::Target;
use crate::system::poll::{every, poll};
use crate::system::process_group::{Launch, ProcessGroup, STOP_TIMEOUT, describe_exit, last_lines};
use crate::system::process_registry::ProcessRegistry;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use std::{fs, io};

#[derive(Debug)]
pub enum BuildError {
    Failed(String),
    Interrupted,
}

pub fn build(
    target: &Target,
    base: &Path,
    log: &Path,
    registry: &Arc<ProcessRegistry>,
    stop: &AtomicBool,
) -> Result<(), BuildError> {
    let failed = |e: io::Error| BuildError::Failed(format!("the build cannot be started: {e}"));
    let stdout = fs::File::create(log).map_err(failed)?;
    let dir = std::path::absolute(folder(target, base)).map_err(failed)?;
    let (program, args) = (program(&target.build[0], &dir), target.build[1..].to_vec());
    let stderr = stdout.try_clone().map_err(failed)?;
    let launch = Launch { dir: Some(dir), ..Launch::new(program, args, stdout, stderr) };
    let words = launch.words().join(" ");
    let mut process = ProcessGroup::start(launch, registry).map_err(failed)?;
    let status = poll(Duration::MAX, every(20), || match process.ended() {
        None if stop.load(Ordering::Relaxed) => Some(None),
        status => status.map(Some),
    });
    match status.flatten() {
        Some(status) if status.success() => Ok(()),
        Some(status) => {
            let (tail, how, log) = (last_lines(log, 5).join(" | "), describe_exit(status), log.display());
            Err(BuildError::Failed(format!("the build '{words}' {how}: {tail} (all of it: {log})")))
        }
        None => {
            process.stop(STOP_TIMEOUT);
            Err(BuildError::Interrupted)
        }
    }
}
