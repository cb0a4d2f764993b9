//! Unix sockets: connecting and listening by path, and peer credentials.

use super::listener::BACKLOG;
use super::socket_file::{self, SocketFile, display};
use super::stream::sealed::Sealed;
use super::{Family, Listener, Stream};
use crate::named::named;
use crate::sys;
use crate::time::sleep;
use socket2::{Domain, SockAddr, Socket, Type};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::{self, SocketAddr};
use std::{io, os::linux::net::SocketAddrExt, path::Path, time::Duration};

/// The family of Unix streams.
#[derive(Debug)]
pub enum Unix {}

impl Sealed for Unix {
    type Address = SocketAddr;
    fn address(address: SockAddr) -> io::Result<SocketAddr> {
        match (address.as_pathname(), address.as_abstract_namespace()) {
            (Some(path), _) => SocketAddr::from_pathname(path),
            (None, Some(name)) => SocketAddr::from_abstract_name(name),
            (None, None) => SocketAddr::from_pathname(""),
        }
    }
}

impl Family for Unix {
    type Addr = SocketAddr;
    type StdStream = net::UnixStream;
    type StdListener = net::UnixListener;
}

/// A connection between processes of one host.
///
/// ```
/// use brunt_runtime::net::{UnixListener, UnixStream};
///
/// # brunt_runtime::Runtime::new()?.block_on(async {
/// # let directory = std::env::temp_dir().join(format!("runtime-doc-{}", std::process::id()));
/// # std::fs::create_dir_all(&directory)?;
/// # let path = directory.join("socket");
/// let listener = UnixListener::bind(&path)?;
/// let mut client = UnixStream::connect(&path).await?;
/// let mut server = listener.accept().await?;
/// client.write_all(b"hello").await?;
/// assert_eq!(*server.recv().await?, *b"hello");
/// drop(listener);
/// assert!(!path.exists());
/// # std::fs::remove_dir(&directory)
/// # })?;
/// # std::io::Result::Ok(())
/// ```
pub type UnixStream = Stream<Unix>;

/// A socket that accepts connections on a path.
pub type UnixListener = Listener<Unix>;

/// First delay before retrying when a listener's queue is full; doubles up to [`MAX_RETRY_DELAY`].
const MIN_RETRY_DELAY: Duration = Duration::from_micros(100);
const MAX_RETRY_DELAY: Duration = Duration::from_millis(10);

/// Credentials of the peer of a Unix stream, as of its connect or listen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Credentials {
    /// The process, if visible in this process's PID namespace.
    pub pid: Option<u32>,
    /// The effective user ID.
    pub uid: u32,
    /// The effective group ID.
    pub gid: u32,
}

impl Stream<Unix> {
    /// Connects to the listener on `path`; a path that begins with a zero byte is a name of Linux's abstract namespace. While
    /// the listener's queue is full, waits and retries without limit.
    pub async fn connect(path: impl AsRef<Path>) -> io::Result<Self> {
        let name = display(path.as_ref());
        let address = socket_file::address(path.as_ref())?;
        drop(path);
        let mut delay = MIN_RETRY_DELAY;
        loop {
            let connected = socket().and_then(|socket| sys::connect_unix(&socket, &address).map(|()| socket));
            // Connecting a Unix socket completes at once: connected, refused, or the queue is full.
            match connected {
                Ok(socket) => return Ok(Self::adopt(socket.into())),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => (),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    sleep(delay).await;
                    delay = (delay * 2).min(MAX_RETRY_DELAY);
                }
                Err(error) => return Err(named(format!("cannot connect to '{name}'"), error)),
            }
        }
    }

    /// Two streams connected to each other.
    #[track_caller]
    pub fn pair() -> io::Result<(Self, Self)> {
        let (one, other) = sys::pair().map_err(|error| named("cannot create a pair of Unix sockets", error))?;
        Ok((Self::adopt(one.into()), Self::adopt(other.into())))
    }

    /// The process, user and group of the peer.
    pub fn peer_credentials(&self) -> io::Result<Credentials> {
        if sys::is_simulated() {
            let (uid, gid) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
            return Ok(Credentials { pid: Some(std::process::id()), uid, gid });
        }
        // Not by rustix, where process ID 0 would be an invalid value.
        let mut peer = libc::ucred { pid: 0, uid: 0, gid: 0 };
        let mut len = size_of_val(&peer) as libc::socklen_t;
        self.conn().socket(|socket| {
            // SAFETY: the option writes one ucred, whose size is given; both outlive the call; the descriptor is open.
            let result = unsafe {
                let (level, option) = (libc::SOL_SOCKET, libc::SO_PEERCRED);
                libc::getsockopt(socket.as_raw_fd(), level, option, (&raw mut peer).cast(), &raw mut len)
            };
            if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
        })?;
        let pid = u32::try_from(peer.pid).ok().filter(|pid| *pid != 0);
        Ok(Credentials { pid, uid: peer.uid, gid: peer.gid })
    }
}

impl Listener<Unix> {
    /// Listens on `path`, which must not exist; a path that begins with a zero byte is a name of Linux's abstract namespace.
    /// Dropping the listener removes the file, unless another file has replaced it. The file's permissions (by the process's
    /// umask) and its directory's decide which users may connect.
    ///
    /// # Errors
    /// `AddrInUse` if the path exists; the message says whether a program listens there or the file is stale.
    #[track_caller]
    pub fn bind(path: impl AsRef<Path>) -> io::Result<Self> {
        let (socket, file) = listen(path.as_ref())?;
        Ok(Self::adopt(socket, file))
    }
}

/// A listening socket and its file, unless the name is abstract.
pub(super) fn listen(path: &Path) -> io::Result<(OwnedFd, Option<SocketFile>)> {
    let unheard = |error| named(socket_file::failed(path, "listen on"), error);
    let socket = socket().map_err(unheard)?;
    let file = SocketFile::bind(&socket, path, "listen on")?;
    sys::listen(&socket, BACKLOG).map_err(unheard)?;
    Ok((socket.into(), file))
}

pub(super) fn socket() -> io::Result<Socket> {
    Socket::new(Domain::UNIX, Type::STREAM.nonblocking().cloexec(), None)
}
