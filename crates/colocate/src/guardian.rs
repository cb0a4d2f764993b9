//! A process that holds the BE jobs when their controller cannot: it freezes them when the controller's heartbeats are late,
//! and when the controller is gone it kills them and undoes what is in the journal.
//!
//! Invariants:
//! - It needs nothing of the controller but the journal, which names the group before the group exists.
//! - It never thaws: heartbeats that come back leave the group to the controller, whose next [`apply`] decides.
//!
//! [`apply`]: crate::actuators::Actuators::apply

mod handle;
mod heartbeats;
mod watch;

pub use handle::Guardian;
pub(crate) use heartbeats::{Heard, Heartbeats};
#[cfg(test)]
pub(crate) use watch::Watch;

use crate::clock;
use crate::journal::{self, Contents, Recovered};
use brunt_meter::cgroup::{Files, Freeze, is_frozen, members, set_frozen};
use brunt_meter::poll::{every, poll};
use heartbeats::Pipe;
use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Timeout for the journal of a controller that has ended to be released.
const RELEASE_TIMEOUT: Duration = Duration::from_secs(5);

#[derive(Debug, Clone)]
pub struct Options {
    pub journal: PathBuf,
    /// Between two heartbeats.
    pub period: Duration,
    /// From the end of the controller to the end of the jobs, which are frozen meanwhile.
    pub grace: Duration,
}

/// How the controller ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    /// It had undone its changes itself.
    Properly,
    /// Without that: the group was frozen, killed and removed, and all changes undone, but for the problems.
    Suddenly { problems: Vec<String> },
}

/// Reads heartbeats, of one byte or more each, until the controller ends. `log` gets a line about each event.
pub fn run(files: &dyn Files, input: impl AsFd, options: &Options, log: &mut dyn FnMut(&str)) -> io::Result<Ended> {
    guard(files, &mut Pipe(input), options, log)
}

pub(crate) fn guard(
    files: &dyn Files,
    heartbeats: &mut dyn Heartbeats,
    options: &Options,
    log: &mut dyn FnMut(&str),
) -> io::Result<Ended> {
    watch(files, heartbeats, options, log)?;
    if !options.journal.exists() {
        return Ok(Ended::Properly);
    }
    let dirs = groups(&options.journal).unwrap_or_default();
    if !members(files, &dirs).is_empty() {
        let frozen = set_frozen(files, &dirs, Freeze::Frozen);
        log(&match frozen {
            Ok(()) => format!("the controller is gone: its jobs are frozen and end in {:?}", options.grace),
            Err(error) => format!("the controller is gone and its jobs cannot be frozen: they end now: {error}"),
        });
        if takes_effect(files, &dirs) {
            clock::sleep(options.grace);
        }
    }
    // The kernel releases the lock of the controller some time after it closes the pipe.
    let undone = poll(RELEASE_TIMEOUT, every(10), || match journal::recover(files, &options.journal) {
        Ok(Recovered::InUse { .. }) => None,
        other => Some(other),
    });
    let problems = match undone {
        Some(Ok(Recovered::Undone { problems, .. })) => problems,
        Some(Ok(_)) => Vec::new(),
        // Another process has undone it.
        Some(Err(_)) if !options.journal.exists() => Vec::new(),
        Some(Err(error)) => vec![error.to_string()],
        None => vec![format!("journal {}: still in use after {RELEASE_TIMEOUT:?}", options.journal.display())],
    };
    Ok(Ended::Suddenly { problems })
}

fn takes_effect(files: &dyn Files, dirs: &[PathBuf]) -> bool {
    poll(Duration::from_secs(1), every(1), || is_frozen(files, dirs).then_some(())).is_some()
}

/// Returns when the heartbeats end.
fn watch(
    files: &dyn Files,
    heartbeats: &mut dyn Heartbeats,
    options: &Options,
    log: &mut dyn FnMut(&str),
) -> io::Result<()> {
    let mut watch = watch::Watch::new(options.period);
    loop {
        match heartbeats.next(watch.wake())? {
            Heard::End => return Ok(()),
            Heard::Beat => {
                if watch.beat(clock::now()) {
                    log("heartbeats are back: the jobs are left to the controller");
                }
            }
            Heard::Nothing => {
                if watch.is_late(clock::now()) {
                    freeze(files, options, &mut watch, log);
                }
            }
        }
    }
}

fn freeze(files: &dyn Files, options: &Options, watch: &mut watch::Watch, log: &mut dyn FnMut(&str)) {
    let dirs = groups(&options.journal);
    if dirs.as_ref().is_ok_and(Vec::is_empty) {
        // Not made yet, or undone.
        return watch.has_no_group();
    }
    let frozen = dirs.and_then(|dirs| set_frozen(files, &dirs, Freeze::Frozen));
    if watch.frozen() {
        let late = watch.late();
        log(&match frozen {
            Ok(()) => format!("no heartbeat for {late:?}: the jobs are frozen"),
            Err(error) => format!("no heartbeat for {late:?}, and the jobs cannot be frozen: {error}"),
        });
    }
}

/// None without a journal.
fn groups(journal: &Path) -> io::Result<Vec<PathBuf>> {
    match Contents::read(journal) {
        Ok(contents) => Ok(contents.groups()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests;
