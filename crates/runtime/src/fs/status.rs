//! `Metadata`: what the kernel tells of a file.

use super::request::{run, text};
use crate::named::named;
use io_uring::opcode;
use io_uring::types::Fd;
use std::ffi::CString;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use std::{fmt, io};

/// What statx(2) tells of a file.
#[derive(Clone, Copy)]
pub struct Metadata(libc::statx);

impl Metadata {
    /// Its length in bytes.
    #[expect(clippy::len_without_is_empty, reason = "of a file, not of a collection")]
    pub fn len(&self) -> u64 {
        self.0.stx_size
    }

    /// Whether it is a regular file.
    pub fn is_file(&self) -> bool {
        self.kind() == libc::S_IFREG
    }

    /// Whether it is a directory.
    pub fn is_dir(&self) -> bool {
        self.kind() == libc::S_IFDIR
    }

    fn kind(&self) -> u32 {
        u32::from(self.0.stx_mode) & libc::S_IFMT
    }

    /// Its permissions, as chmod(2) takes them.
    pub fn mode(&self) -> u32 {
        u32::from(self.0.stx_mode) & 0o7777
    }

    /// When its data was last changed.
    pub fn modified(&self) -> SystemTime {
        let (seconds, nanos) = (self.0.stx_mtime.tv_sec, Duration::from_nanos(self.0.stx_mtime.tv_nsec.into()));
        let whole = Duration::from_secs(seconds.unsigned_abs());
        let second = if seconds < 0 { SystemTime::UNIX_EPOCH - whole } else { SystemTime::UNIX_EPOCH + whole };
        second + nanos
    }

    /// All that statx(2) tells.
    pub fn statx(&self) -> &libc::statx {
        &self.0
    }
}

impl fmt::Debug for Metadata {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (len, mode, modified) = (self.len(), self.0.stx_mode, self.modified());
        write!(f, "Metadata {{ len: {len}, mode: {mode:#o}, modified: {modified:?} }}")
    }
}

/// A status to be filled in: of a path, or with an empty one of a descriptor.
type Status = (Option<Arc<OwnedFd>>, CString, Box<libc::statx>);

pub(super) async fn status_of(fd: Option<Arc<OwnedFd>>, path: CString) -> io::Result<Metadata> {
    let folder = |(fd, ..): &Status| fd.as_ref().map_or(libc::AT_FDCWD, |fd| fd.as_raw_fd());
    let flags = if fd.is_some() { libc::AT_EMPTY_PATH } else { 0 };
    // SAFETY: the structure is numbers.
    let status: Status = (fd, path, Box::new(unsafe { std::mem::zeroed() }));
    let entry = move |status: &mut Status| {
        let (from, into) = (Fd(folder(status)), std::ptr::from_mut(&mut *status.2).cast());
        opcode::Statx::new(from, status.1.as_ptr(), into).flags(flags).mask(libc::STATX_BASIC_STATS).build()
    };
    let call = move |status: &mut Status| {
        let (from, into) = (folder(status), std::ptr::from_mut(&mut *status.2));
        // SAFETY: the path ends with a zero byte, and the structure is large enough.
        match unsafe { libc::statx(from, status.1.as_ptr(), flags, libc::STATX_BASIC_STATS, into) } {
            0 => Ok(0),
            _ => Err(io::Error::last_os_error()),
        }
    };
    // SAFETY: the descriptor, the path and the structure are owned, and do not move.
    let (_, (_, _, status)) = unsafe { run(status, entry, call) }.await?;
    Ok(Metadata(*status))
}

/// The status of the file at a path; follows symbolic links.
pub async fn metadata(path: impl AsRef<Path>) -> io::Result<Metadata> {
    let path = path.as_ref();
    let status = status_of(None, text(path)?).await;
    status.map_err(|error| named(format!("cannot read the status of '{}'", path.display()), error))
}
