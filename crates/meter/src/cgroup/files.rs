//! Access to the files of control groups.

use crate::marked::{self, Found};
use crate::proc;
use rustix::process::{Pid, Signal, kill_process};
use std::ffi::OsStr;
use std::fmt::Debug;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::{fs, fs::OpenOptions};

/// Control files, and the processes that they name. Tests implement it on a directory of their own, with errors.
///
/// Errors name the file.
pub trait Files: Debug + Send + Sync {
    fn read(&self, file: &Path) -> io::Result<String>;
    /// Writes to a file that exists, in one call.
    fn write(&self, file: &Path, text: &str) -> io::Result<()>;
    fn create_dir(&self, dir: &Path) -> io::Result<()>;
    /// Removes a directory without directories in it.
    fn remove_dir(&self, dir: &Path) -> io::Result<()>;
    /// SIGKILL. A process that has ended is no error.
    fn kill(&self, pid: u32);

    /// The processes that were started with this variable, of this value.
    fn marked(&self, name: &str, value: &OsStr) -> Found {
        marked::find(name, value)
    }

    fn exists(&self, path: &Path) -> bool {
        path.exists()
    }

    /// The directories in this one.
    fn children(&self, dir: &Path) -> Vec<PathBuf> {
        let entries = fs::read_dir(dir).into_iter().flatten().flatten();
        let dirs = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        dirs.map(|entry| entry.path()).collect()
    }
}

/// The number of a line `key number` in the text of a file such as `cpu.stat`.
pub fn entry(text: &str, key: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(' ')?.trim().parse().ok())
}

/// The files of this machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct Linux;

impl Files for Linux {
    fn read(&self, file: &Path) -> io::Result<String> {
        proc::text(file).map_err(|error| named(file, &error))
    }

    fn write(&self, file: &Path, text: &str) -> io::Result<()> {
        // Without O_CREAT: a file that is missing is an error, in any file system.
        let written = OpenOptions::new().write(true).open(file).and_then(|mut open| open.write_all(text.as_bytes()));
        written.map_err(|error| io::Error::new(error.kind(), format!("{}: writing {text:?}: {error}", file.display())))
    }

    fn create_dir(&self, dir: &Path) -> io::Result<()> {
        fs::create_dir(dir).map_err(|error| named(dir, &error))
    }

    fn remove_dir(&self, dir: &Path) -> io::Result<()> {
        fs::remove_dir(dir).map_err(|error| named(dir, &error))
    }

    fn kill(&self, pid: u32) {
        // Process 0 would be our own group of processes.
        if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}

fn named(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}
