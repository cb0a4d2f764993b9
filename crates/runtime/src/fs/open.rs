//! `OpenOptions`: how a file is opened; and `File::open`.

use super::file::File;
use super::request::{open, text};
use crate::named::named;
use io_uring::opcode;
use io_uring::types::Fd;
use rustix::fs::{OFlags, fcntl_setfl};
use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{FromRawFd, OwnedFd};
use std::path::Path;

/// How a file is opened, as [`std::fs::OpenOptions`] says it: the same combinations are errors.
#[derive(Debug, Clone)]
pub struct OpenOptions {
    read: bool,
    write: bool,
    append: bool,
    truncate: bool,
    create: bool,
    create_new: bool,
    custom_flags: i32,
    mode: u32,
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self::new()
    }
}

/// Setters of one field.
macro_rules! setters {
    ($($(#[$doc:meta])* $field:ident: $type:ty;)*) => { $(
        $(#[$doc])*
        pub fn $field(mut self, $field: $type) -> Self {
            self.$field = $field;
            self
        }
    )* };
}

impl OpenOptions {
    /// Neither for reading nor for writing; a new file has mode 0o666 less the umask.
    pub fn new() -> Self {
        let (read, write, append, truncate, create, create_new) = Default::default();
        Self { read, write, append, truncate, create, create_new, custom_flags: 0, mode: 0o666 }
    }

    setters! {
        /// For reading.
        read: bool;
        /// For writing.
        write: bool;
        /// For writing: every write goes to the end of the file, wherever it is asked to go.
        append: bool;
        /// Emptied. Needs `write`.
        truncate: bool;
        /// Created if it does not exist. Needs `write` or `append`.
        create: bool;
        /// Created; an error if it exists. Needs `write` or `append`.
        create_new: bool;
        /// Permissions of a new file, less the umask.
        mode: u32;
        /// Other flags of open(2), such as `O_DIRECT`, which demands [aligned](super::AlignedBuf) buffers, offsets and lengths.
        custom_flags: i32;
    }

    /// The flags of open(2).
    fn flags(&self) -> io::Result<i32> {
        let invalid = |message| Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        let access = match (self.read, self.write || self.append) {
            (true, false) => libc::O_RDONLY,
            (false, true) => libc::O_WRONLY,
            (true, true) => libc::O_RDWR,
            (false, false) => return invalid("a file is opened for reading or for writing"),
        };
        if access == libc::O_RDONLY && (self.truncate || self.create || self.create_new) {
            return invalid("a file that is emptied or created is opened for writing");
        }
        if self.append && self.truncate && !self.create_new {
            return invalid("a file is emptied or appended to");
        }
        let chosen = [
            (libc::O_APPEND, self.append),
            (libc::O_CREAT, self.create || self.create_new),
            (libc::O_EXCL, self.create_new),
            (libc::O_TRUNC, self.truncate && !self.create_new),
        ];
        let flags = chosen.iter().filter(|(_, on)| *on).fold(access, |flags, (flag, _)| flags | flag);
        Ok(flags | libc::O_CLOEXEC | self.custom_flags & !libc::O_ACCMODE)
    }

    /// Opens the file.
    ///
    /// # Errors
    /// Those of open(2), with the path; `InvalidInput` for a combination that means nothing, as in the standard library.
    pub async fn open(&self, path: impl AsRef<Path>) -> io::Result<File> {
        let ((flags, mode), path) = ((self.flags()?, self.mode), path.as_ref());
        let entry =
            |path: &mut CString| opcode::OpenAt::new(Fd(libc::AT_FDCWD), path.as_ptr()).flags(flags).mode(mode).build();
        let call = move |path: &mut CString| open_as_the_ring(path, flags, mode);
        // SAFETY: the path is owned, and its bytes do not move.
        let opened = unsafe { open(text(path)?, entry, call) }.await;
        opened.map(File::adopt).map_err(|error| named(format!("cannot open '{}'", path.display()), error))
    }
}

/// As io_uring does: does not wait for the other end of a FIFO, unless the file may be created or emptied. That would occupy a thread
/// of the pool for as long as nothing opens the other end.
fn open_as_the_ring(path: &CStr, flags: i32, mode: u32) -> io::Result<OwnedFd> {
    if flags & (libc::O_CREAT | libc::O_TRUNC | libc::O_NONBLOCK) != 0 {
        return open_at(path, flags, mode);
    }
    match open_at(path, flags | libc::O_NONBLOCK, mode) {
        Ok(file) => {
            fcntl_setfl(&file, OFlags::from_bits_retain(flags as u32))?;
            Ok(file)
        }
        // A lease of another program on the file is being ended.
        Err(error) if error.raw_os_error() == Some(libc::EAGAIN) => open_at(path, flags, mode),
        Err(error) => Err(error),
    }
}

fn open_at(path: &CStr, flags: i32, mode: u32) -> io::Result<OwnedFd> {
    // SAFETY: the path ends with a zero byte.
    let fd = unsafe { libc::openat(libc::AT_FDCWD, path.as_ptr(), flags, mode) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: just opened.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

impl File {
    /// Opens a file for reading.
    pub async fn open(path: impl AsRef<Path>) -> io::Result<Self> {
        OpenOptions::new().read(true).open(path).await
    }

    /// Opens a file for writing; creates it if it does not exist, and empties it if it does.
    pub async fn create(path: impl AsRef<Path>) -> io::Result<Self> {
        OpenOptions::new().write(true).create(true).truncate(true).open(path).await
    }
}
