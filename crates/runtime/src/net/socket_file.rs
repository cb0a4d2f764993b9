//! The file of a Unix listener: removed by its creator, unless another file has replaced it.

use crate::named::named;
use crate::sys;
use socket2::{Domain, SockAddr, Socket, Type};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::{fs, io, time::SystemTime};

/// A socket file created here. Dropping this removes it if it is still the same file.
#[derive(Debug)]
pub(super) struct SocketFile {
    path: PathBuf,
    identity: Identity,
}

/// Device, inode and creation time: inode numbers alone are reused.
type Identity = (u64, u64, Option<SystemTime>);

fn identity(path: &Path) -> io::Result<Identity> {
    let file = fs::symlink_metadata(path)?;
    Ok((file.dev(), file.ino(), file.created().ok()))
}

impl SocketFile {
    /// Binds a socket to a path; `None` for abstract names, which have no file. `verb` says in errors what could not be done.
    pub fn bind(socket: &Socket, path: &Path, verb: &str) -> io::Result<Option<Self>> {
        let address = address(path)?;
        if let Some(bound) = sys::bind_unix(socket, &address) {
            return bound.map(|()| None).map_err(|error| named(failed(path, verb), error));
        }
        socket.bind(&address).map_err(|error| explain(path, &address, verb, error))?;
        if is_abstract(path) {
            return Ok(None);
        }
        // The process may change its working directory before the file is removed.
        let path = std::path::absolute(path)?;
        Ok(Some(Self { identity: identity(&path)?, path }))
    }

    /// Leaves the file where it is.
    pub fn leave(mut self) {
        // Of an empty path there is no file.
        self.path.clear();
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        if identity(&self.path).is_ok_and(|now| now == self.identity) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// The address of a path of at most 107 bytes.
pub(super) fn address(path: &Path) -> io::Result<SockAddr> {
    if path.as_os_str().is_empty() {
        // The kernel's address without a path stands for no socket, and binding to it chooses an abstract name.
        let message = "the path of a Unix socket is empty; write one such as /run/echo.sock";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
    }
    if !is_abstract(path) && path.as_os_str().as_encoded_bytes().contains(&0) {
        // The kernel's path ends there, and is another one.
        let message = format!("'{}' cannot name a Unix socket: it contains a zero byte", display(path));
        return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
    }
    SockAddr::unix(path).map_err(|error| {
        let message = format!("'{}' cannot name a Unix socket, the limit is 107 bytes: {error}", display(path));
        io::Error::new(error.kind(), message)
    })
}

/// The path for messages, with '@' for the zero byte of abstract names.
pub(super) fn display(path: &Path) -> String {
    path.to_string_lossy().replacen('\0', "@", 1)
}

fn is_abstract(path: &Path) -> bool {
    path.as_os_str().as_encoded_bytes().first() == Some(&0)
}

pub fn failed(path: &Path, verb: &str) -> String {
    format!("cannot {verb} '{}'", display(path))
}

/// Names the cause of a failed bind and its remedy.
fn explain(path: &Path, address: &SockAddr, verb: &str, error: io::Error) -> io::Error {
    let busy = "another program listens there; stop it or choose another path";
    let what = match error.raw_os_error() {
        Some(libc::EADDRINUSE) if is_abstract(path) => busy,
        Some(libc::EADDRINUSE) if !fs::metadata(path).is_ok_and(|file| file.file_type().is_socket()) => {
            "a file that is not a socket exists; choose another path"
        }
        Some(libc::EADDRINUSE) if is_stale(address) => {
            "a stale socket file exists, left by a program that did not end cleanly; remove it"
        }
        Some(libc::EADDRINUSE) => busy,
        _ => return named(failed(path, verb), error),
    };
    io::Error::new(error.kind(), format!("{}: {what}", failed(path, verb)))
}

/// Whether no program listens on the socket file. A datagram socket probes it, which fails without connecting to a listener.
pub(super) fn is_stale(address: &SockAddr) -> bool {
    let probe = Socket::new(Domain::UNIX, Type::DGRAM.nonblocking().cloexec(), None);
    let refused = |socket: Socket| socket.connect(address).map_err(|error| error.raw_os_error());
    probe.is_ok_and(|socket| refused(socket) == Err(Some(libc::ECONNREFUSED)))
}
