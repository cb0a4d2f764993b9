//! Temporary homes: a folder for everything that a test writes, removed at its end.

use rustix::fs::{Access, StatVfsMountFlags, access, statvfs};
use std::env;
use std::ops::Deref;
use std::path::{Path, PathBuf};

/// Free bytes that a file system in memory must have: several times what the tests of a program need there.
const ROOM: u64 = 4 << 30;

/// A folder that is removed on drop. Its path has no links in it, so it compares equal to what a program reports.
pub struct Home {
    path: PathBuf,
    _folder: tempfile::TempDir,
}

/// A new folder: in `TMPDIR`, if it is set, or in memory, where a test waits for no disk.
pub fn home() -> Home {
    let place = if env::var_os("TMPDIR").is_none() { in_memory() } else { None };
    let folder = tempfile::tempdir_in(place.unwrap_or_else(env::temp_dir)).expect("a temporary folder");
    let path = folder.path().canonicalize().expect("its path");
    Home { path, _folder: folder }
}

/// The file system in memory, if there is one with room that starts programs.
fn in_memory() -> Option<PathBuf> {
    let place = PathBuf::from("/dev/shm");
    let system = statvfs(&place).ok()?;
    let has_room = system.f_bavail * system.f_frsize >= ROOM && !system.f_flag.contains(StatVfsMountFlags::NOEXEC);
    (has_room && access(&place, Access::WRITE_OK).is_ok()).then_some(place)
}

impl Home {
    /// The folder, also for what takes no [`Deref`].
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Deref for Home {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.path
    }
}

impl AsRef<Path> for Home {
    fn as_ref(&self) -> &Path {
        &self.path
    }
}
