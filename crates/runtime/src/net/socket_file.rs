//! The file of a Unix listener: whoever made it removes it, unless it is somebody else's by then.

use socket2::{Domain, SockAddr, Socket, Type};
use std::{
    fs, io,
    os::unix::fs::{FileTypeExt, MetadataExt},
    path::{Path, PathBuf},
    time::SystemTime,
};

/// A file that we have made. Dropping this removes it if it is still the same.
#[derive(Debug)]
pub(super) struct SocketFile {
    path: PathBuf,
    identity: Identity,
}

/// What tells a file from a later one of the same name. The number alone does not: it is used again.
type Identity = (u64, u64, Option<SystemTime>);

fn identity(path: &Path) -> io::Result<Identity> {
    let file = fs::symlink_metadata(path)?;
    Ok((file.dev(), file.ino(), file.created().ok()))
}

impl SocketFile {
    /// Binds a socket to its path and remembers the file that this made; a name without a file is taken as it is.
    pub fn bind(socket: &Socket, path: &Path) -> io::Result<Option<Self>> {
        let address = address(path)?;
        socket.bind(&address).map_err(|error| explain(path, &address, &error))?;
        if is_abstract(path) {
            return Ok(None);
        }
        // The process may change its directory before the file is removed.
        let path = std::path::absolute(path)?;
        Ok(Some(Self { identity: identity(&path)?, path }))
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        if identity(&self.path).is_ok_and(|now| now == self.identity) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// A path as an address; too long a path is an error that says so.
pub(super) fn address(path: &Path) -> io::Result<SockAddr> {
    SockAddr::unix(path).map_err(|error| {
        let message = format!("'{}' cannot name a Unix socket, 107 bytes are the most: {error}", shown(path));
        io::Error::new(error.kind(), message)
    })
}

/// A path as people write it: a name without a file begins with '@'.
pub(super) fn shown(path: &Path) -> String {
    path.to_string_lossy().replacen('\0', "@", 1)
}

/// A name of Linux's abstract namespace, which begins with a zero byte and has no file.
fn is_abstract(path: &Path) -> bool {
    path.as_os_str().as_encoded_bytes().first() == Some(&0)
}

/// Why a bind was refused, and what to do.
fn explain(path: &Path, address: &SockAddr, error: &io::Error) -> io::Error {
    let busy = "another program listens there; stop it or choose another path";
    let what = match error.raw_os_error() {
        Some(libc::EADDRINUSE) if is_abstract(path) => busy,
        Some(libc::EADDRINUSE) if !fs::metadata(path).is_ok_and(|file| file.file_type().is_socket()) => {
            "something that is no socket is there; choose another path"
        }
        Some(libc::EADDRINUSE) if is_stale(address) => {
            "a socket file is there that nobody listens on, left by a program that did not end cleanly; remove it"
        }
        Some(libc::EADDRINUSE) => busy,
        _ => &error.to_string(),
    };
    io::Error::new(error.kind(), format!("cannot listen on '{}': {what}", shown(path)))
}

/// Nobody has the socket that is there. Asked with a socket for datagrams, which is refused in one way or the other: whoever
/// does listen must not get a connection for it.
fn is_stale(address: &SockAddr) -> bool {
    let probe = Socket::new(Domain::UNIX, Type::DGRAM.nonblocking().cloexec(), None);
    let refused = |socket: Socket| socket.connect(address).map_err(|error| error.raw_os_error());
    probe.is_ok_and(|socket| refused(socket) == Err(Some(libc::ECONNREFUSED)))
}
