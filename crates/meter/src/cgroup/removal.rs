//! Removes groups, and those that killed processes left.

use super::files::{Files, Linux};
use super::hierarchy::hierarchies;
use super::name::is_orphan;
use super::processes::{kill, tree};
use crate::poll::{every, poll};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};

/// Timeout for killed processes to leave the group.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Kills what is in these directories of one group and removes them, with those below. Directories that do not exist are no
/// error. The error names what is left.
pub fn remove(files: &dyn Files, dirs: &[PathBuf]) -> io::Result<()> {
    let dirs: Vec<PathBuf> = dirs.iter().filter(|dir| files.exists(dir)).cloned().collect();
    if dirs.is_empty() {
        return Ok(());
    }
    kill(files, &dirs, TIMEOUT);
    // All of them, also after an error.
    let removed: Vec<_> = dirs.iter().map(|dir| remove_tree(files, dir)).collect();
    removed.into_iter().collect()
}

/// Removes a directory and those below it, the lowest first.
fn remove_tree(files: &dyn Files, dir: &Path) -> io::Result<()> {
    let mut last = Ok(());
    poll(TIMEOUT, every(5), || {
        let mut all = tree(files, dir).into_iter().rev().filter(|dir| files.exists(dir));
        last = all.try_for_each(|dir| match files.remove_dir(&dir) {
            // Another process removes it too.
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            removed => removed,
        });
        let is_busy = matches!(&last, Err(error) if error.kind() == ErrorKind::ResourceBusy);
        if is_busy {
            // A process that was moved into the group meanwhile, or has not left it yet.
            kill(files, &[dir.to_owned()], Duration::ZERO);
        }
        (!is_busy).then_some(())
    });
    last
}

/// Removes the groups of processes that are gone, and kills what is in them. Returns their names.
pub fn remove_orphans() -> Vec<String> {
    let mut orphans: Vec<PathBuf> = Vec::new();
    for hierarchy in hierarchies() {
        for parent in hierarchy.upwards() {
            let groups = fs::read_dir(parent).into_iter().flatten().flatten().map(|entry| entry.path());
            orphans.extend(groups.filter(|group| is_orphan(group)));
        }
    }
    let name = |group: &PathBuf| group.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut names: Vec<String> = orphans.iter().map(name).collect();
    names.sort_unstable();
    names.dedup();
    for wanted in &names {
        let dirs: Vec<PathBuf> = orphans.iter().filter(|group| name(group) == *wanted).cloned().collect();
        let _ = remove(&Linux, &dirs);
    }
    names
}
