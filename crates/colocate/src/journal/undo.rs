//! Undoes changes, the last first.

use super::contents::{Change, groups, is_ours};
use crate::{escapes, tc};
use brunt_meter::cgroup::{Files, remove};
use std::io;
use std::path::Path;

/// Returns what could not be undone; all else is.
pub(super) fn undo(files: &dyn Files, changes: &[Change]) -> Vec<String> {
    let dirs = groups(changes);
    let mut problems = Vec::new();
    escapes::kill(files, &dirs);
    // All directories at once: a process may be in some of them only.
    problems.extend(remove(files, &dirs).err().map(|error| error.to_string()));
    let others = changes.iter().rev().filter_map(|change| one(files, change).err());
    problems.extend(others.map(|error| error.to_string()));
    problems
}

fn one(files: &dyn Files, change: &Change) -> io::Result<()> {
    let is_gone = |path: &Path| !files.exists(path);
    match change {
        Change::Group(dir) | Change::Resctrl(dir) if !is_ours(dir) => {
            let why = format!("{}: not a name of a group made here, left alone", dir.display());
            Err(io::Error::new(io::ErrorKind::InvalidData, why))
        }
        Change::Group(_) => Ok(()),
        Change::Resctrl(dir) if is_gone(dir) => Ok(()),
        Change::Resctrl(dir) => files.remove_dir(dir),
        Change::Value { file, .. } if is_gone(file) => Ok(()),
        Change::Value { file, old, .. } => {
            if files.read(file)? != *old {
                files.write(file, old)?;
            }
            let now = files.read(file)?;
            let why = || io::Error::other(format!("{} is {now:?} after writing {old:?}", file.display()));
            (now == *old).then_some(()).ok_or_else(why)
        }
        Change::Mount(dir) if is_gone(dir) => Ok(()),
        Change::Mount(dir) => unmount(dir),
        Change::Qdisc { interface } => tc::remove(interface),
    }
}

fn unmount(dir: &Path) -> io::Result<()> {
    let named = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", dir.display()));
    match rustix::mount::unmount(dir, rustix::mount::UnmountFlags::empty()) {
        // EINVAL: it is not a mount point.
        Ok(()) | Err(rustix::io::Errno::INVAL) => std::fs::remove_dir(dir).map_err(named),
        Err(error) => Err(named(error.into())),
    }
}
