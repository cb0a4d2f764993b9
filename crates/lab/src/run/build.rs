//! Builds targets before the first trial.

use super::preflight::{folder, program};
use crate::{
    plan::Target,
    system::{
        process_group::{Launch, ProcessGroup, STOP_TIMEOUT, describe_exit, last_lines},
        process_registry::ProcessRegistry,
    },
};
use std::{
    collections::BTreeMap,
    fs, io,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

/// Why a target was not built.
#[derive(Debug)]
pub enum NotBuilt {
    /// The build said so, or could not be started.
    Failed(String),
    /// The run is to end.
    Interrupted,
}

/// Builds a target; its output goes to `log`.
pub fn build(
    target: &Target,
    base: &Path,
    log: &Path,
    ledger: &Arc<ProcessRegistry>,
    stop: &AtomicBool,
) -> Result<(), NotBuilt> {
    let failed = |e: io::Error| NotBuilt::Failed(format!("the build cannot be started: {e}"));
    let stdout = fs::File::create(log).map_err(failed)?;
    let dir = std::path::absolute(folder(target, base)).map_err(failed)?;
    let launch = Launch {
        program: program(&target.build[0], &dir),
        args: target.build[1..].to_vec(),
        dir: Some(dir),
        env: BTreeMap::new(),
        cores: None,
        stderr: stdout.try_clone().map_err(failed)?,
        stdout,
    };
    let words = launch.words().join(" ");
    let mut group = ProcessGroup::start(launch, ledger).map_err(failed)?;
    loop {
        if let Some(status) = group.ended() {
            if status.success() {
                return Ok(());
            }
            let tail = last_lines(log, 5).join(" | ");
            return Err(NotBuilt::Failed(format!(
                "the build '{words}' {}: {tail} (all of it: {})",
                describe_exit(status),
                log.display()
            )));
        }
        if stop.load(Ordering::Relaxed) {
            group.stop(STOP_TIMEOUT);
            return Err(NotBuilt::Interrupted);
        }
        thread::sleep(Duration::from_millis(20));
    }
}
