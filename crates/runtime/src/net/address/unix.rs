//! Listening on a path that a program may have left behind.

use crate::net::socket_file::{self, SocketFile};
use crate::net::unix;
use std::fs::{self, File};
use std::os::{fd::OwnedFd, unix::fs::FileTypeExt};
use std::{io, path::Path};

/// Listens on `path`, and replaces the socket file of a program that has ended.
pub(super) fn listen(path: &Path) -> io::Result<(OwnedFd, Option<SocketFile>)> {
    if !is_stale(path) {
        return unix::listen(path);
    }
    // Of several programs that find the file stale at once one replaces it; the others wait here and then find it in use.
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let _lock = File::open(directory).and_then(|directory| directory.lock().map(|()| directory));
    if is_stale(path) {
        fs::remove_file(path).map_err(|error| {
            let text = format!("cannot replace the stale socket file '{}': {error}", path.display());
            io::Error::new(error.kind(), text)
        })?;
    }
    unix::listen(path)
}

fn is_stale(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|file| file.file_type().is_socket())
        && socket_file::address(path).is_ok_and(|address| socket_file::is_stale(&address))
}
