//! Listening on the path of a Unix socket.

use crate::ServeError;
use brunt_runtime::net::UnixListener;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::UnixDatagram;
use std::path::Path;

/// Listens on a path; must be called inside the runtime. Replaces the socket file of a program that has ended; dropping the
/// listener removes the file.
///
/// # Errors
/// If a program listens there, or the file is not a socket.
pub(crate) fn bind_unix(path: &Path) -> Result<UnixListener, ServeError> {
    bind(path).map_err(|error| ServeError::Failed(error.to_string()))
}

fn bind(path: &Path) -> io::Result<UnixListener> {
    if !is_stale(path) {
        return UnixListener::bind(path);
    }
    // Of several servers that find the file stale at once one replaces it; the others wait here and then find it in use.
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let _lock = File::open(directory).and_then(|directory| directory.lock().map(|()| directory));
    if is_stale(path) {
        fs::remove_file(path).map_err(|error| {
            let text = format!("cannot replace the stale socket file '{}': {error}", path.display());
            io::Error::new(error.kind(), text)
        })?;
    }
    UnixListener::bind(path)
}

/// Whether this is a socket file without a program behind it. Probed with a datagram, so that a listener gets no connection
/// from it, and one that is bound but does not listen yet is not stale.
fn is_stale(path: &Path) -> bool {
    let refused =
        |probe: UnixDatagram| probe.connect(path).is_err_and(|e| e.kind() == io::ErrorKind::ConnectionRefused);
    fs::symlink_metadata(path).is_ok_and(|file| file.file_type().is_socket())
        && UnixDatagram::unbound().is_ok_and(refused)
}
