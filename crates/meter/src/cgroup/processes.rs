//! What is done to all processes of a group: freezing, thawing, killing.

use super::files::Files;
use crate::poll::{backoff, poll};
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Whether the processes of a group may run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Freeze {
    Frozen,
    Thawed,
}

/// Processes in any of these directories or below them.
pub fn members(files: &dyn Files, dirs: &[PathBuf]) -> BTreeSet<u32> {
    let all = dirs.iter().flat_map(|dir| tree(files, dir));
    let procs = all.filter_map(|dir| files.read(&dir.join("cgroup.procs")).ok());
    procs.flat_map(|text| text.lines().filter_map(|pid| pid.parse().ok()).collect::<Vec<u32>>()).collect()
}

/// A directory and those below it, parents first.
pub fn tree(files: &dyn Files, dir: &Path) -> Vec<PathBuf> {
    let mut all = vec![dir.to_owned()];
    let mut next = 0;
    while next < all.len() {
        let children = files.children(&all[next]);
        all.extend(children);
        next += 1;
    }
    all
}

/// Asks the kernel to freeze or thaw; it takes effect some time later, see [`is_frozen`]. An error if no directory can.
pub fn set_frozen(files: &dyn Files, dirs: &[PathBuf], wanted: Freeze) -> io::Result<()> {
    let words = match wanted {
        Freeze::Frozen => ["1", "FROZEN"],
        Freeze::Thawed => ["0", "THAWED"],
    };
    let knobs =
        dirs.iter().flat_map(|dir| [(dir.join("cgroup.freeze"), words[0]), (dir.join("freezer.state"), words[1])]);
    let knobs: Vec<_> = knobs.filter(|(file, _)| files.exists(file)).collect();
    if knobs.is_empty() {
        return Err(io::Error::new(io::ErrorKind::NotFound, "no directory of the group can be frozen"));
    }
    // All of them, also after an error.
    let written: Vec<_> = knobs.iter().map(|(file, word)| files.write(file, word)).collect();
    written.into_iter().collect()
}

/// Whether no process of the group can run. Reading it also makes version 1 go on with freezing.
pub fn is_frozen(files: &dyn Files, dirs: &[PathBuf]) -> bool {
    let mut signs =
        dirs.iter().flat_map(|dir| [(dir.join("cgroup.events"), "frozen 1"), (dir.join("freezer.state"), "FROZEN")]);
    let has =
        |(file, line): (PathBuf, &str)| files.read(&file).is_ok_and(|text| text.lines().any(|found| found == line));
    signs.any(has)
}

/// Kills all processes of the group, frozen or not, and returns once none is left in it; false after `timeout`.
pub fn kill(files: &dyn Files, dirs: &[PathBuf], timeout: Duration) -> bool {
    let everywhere = |name: &str, word: &str| {
        for file in dirs.iter().map(|dir| dir.join(name)).filter(|file| files.exists(file)) {
            let _ = files.write(&file, word);
        }
    };
    // Nothing forks any more, so the number of those to kill only falls.
    everywhere("pids.max", "0");
    let gone = || {
        everywhere("cgroup.kill", "1");
        if members(files, dirs).is_empty() {
            return Some(());
        }
        // In version 1 signals reach frozen processes when they are thawed: none runs between the two.
        everywhere("freezer.state", "FROZEN");
        for pid in members(files, dirs) {
            files.kill(pid);
        }
        everywhere("freezer.state", "THAWED");
        everywhere("cgroup.freeze", "0");
        None
    };
    poll(timeout, backoff(20), gone).is_some()
}
