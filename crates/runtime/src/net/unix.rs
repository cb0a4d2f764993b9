//! Unix sockets: connecting and listening by path, and what only Unix streams have.

use super::{
    Family, Listener, Stream,
    listener::BACKLOG,
    socket_file::{self, SocketFile, shown},
    stream::sealed::Sealed,
};
use crate::time::sleep;
use socket2::{Domain, SockAddr, SockRef, Socket, Type};
use std::{
    io,
    os::{
        fd::AsRawFd,
        linux::net::SocketAddrExt,
        unix::net::{self, SocketAddr},
    },
    path::Path,
    time::Duration,
};

/// The family of Unix streams.
#[derive(Debug)]
pub enum Unix {}

impl Sealed for Unix {}
impl Family for Unix {}

/// A connection between processes of one machine.
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

/// First pause before another attempt when a listener's queue is full; it doubles up to [`LONGEST_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_micros(100);
const LONGEST_PAUSE: Duration = Duration::from_millis(10);

/// Who is at the other end of a Unix stream: what it was when it connected or listened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Credentials {
    /// The process, unless it lives where our process numbers do not reach (another container).
    pub pid: Option<u32>,
    /// The effective user.
    pub uid: u32,
    /// The effective group.
    pub gid: u32,
}

impl Stream<Unix> {
    /// Connects to whoever listens on `path`; a path that begins with a zero byte is a name of Linux's abstract
    /// namespace. While the listener's queue is full this waits, for as long as that takes.
    pub async fn connect(path: impl AsRef<Path>) -> io::Result<Self> {
        let name = shown(path.as_ref());
        let address = socket_file::address(path.as_ref())?;
        drop(path);
        let mut pause = FIRST_PAUSE;
        loop {
            let socket = socket()?;
            // Connecting a Unix socket never takes time: it is done, refused, or the queue is full.
            match socket.connect(&address) {
                Ok(()) => return Ok(Self::adopt(socket.into())),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => (),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    sleep(pause).await;
                    pause = (pause * 2).min(LONGEST_PAUSE);
                }
                Err(error) => {
                    return Err(io::Error::new(error.kind(), format!("cannot connect to '{name}': {error}")));
                }
            }
        }
    }

    /// Two streams that are each other's peer.
    pub fn pair() -> io::Result<(Self, Self)> {
        let (one, other) = Socket::pair(Domain::UNIX, Type::STREAM.nonblocking(), None)?;
        Ok((Self::adopt(one.into()), Self::adopt(other.into())))
    }

    /// Takes over a connected socket.
    pub fn from_std(stream: net::UnixStream) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        Ok(Self::adopt(stream.into()))
    }

    /// The other end; without a name if it has none, as most clients.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.link().socket(|socket| socket.peer_addr()).and_then(named)
    }

    /// This end.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.link().socket(|socket| socket.local_addr()).and_then(named)
    }

    /// The process, user and group at the other end.
    pub fn peer_credentials(&self) -> io::Result<Credentials> {
        self.link().socket(|socket| credentials(&socket))
    }
}

impl Listener<Unix> {
    /// Listens on `path`, where nothing may be yet; a path that begins with a zero byte is a name of Linux's abstract
    /// namespace. Dropping the listener removes the file, unless another has taken its place by then. Who may connect is
    /// decided by the permissions of the file, made with the process's umask, and of its directory.
    ///
    /// # Errors
    /// `AddrInUse` says whether somebody listens there, or the file was left behind by a program that was killed.
    pub fn bind(path: impl AsRef<Path>) -> io::Result<Self> {
        let socket = socket()?;
        let file = SocketFile::bind(&socket, path.as_ref())?;
        socket.listen(BACKLOG)?;
        Ok(Self::adopt(socket.into(), file))
    }

    /// Takes over a listening socket, but not its file, which stays. Workers that share a path get a clone each.
    pub fn from_std(listener: net::UnixListener) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        Ok(Self::adopt(listener.into(), None))
    }

    /// The address it listens on.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.socket(|socket| socket.local_addr()).and_then(named)
    }
}

fn socket() -> io::Result<Socket> {
    Socket::new(Domain::UNIX, Type::STREAM.nonblocking().cloexec(), None)
}

fn named(address: SockAddr) -> io::Result<SocketAddr> {
    match (address.as_pathname(), address.as_abstract_namespace()) {
        (Some(path), _) => SocketAddr::from_pathname(path),
        (None, Some(name)) => SocketAddr::from_abstract_name(name),
        // No path is no name.
        (None, None) => SocketAddr::from_pathname(""),
    }
}

/// SO_PEERCRED. Not by rustix, where a process without a number would be an invalid value.
fn credentials(socket: &SockRef<'_>) -> io::Result<Credentials> {
    let mut found = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let mut len = size_of_val(&found) as libc::socklen_t;
    // SAFETY: the option fills in one ucred, whose size is given; both live through the call, and the descriptor is open.
    let result = unsafe {
        let (level, option) = (libc::SOL_SOCKET, libc::SO_PEERCRED);
        libc::getsockopt(socket.as_raw_fd(), level, option, (&raw mut found).cast(), &raw mut len)
    };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    let pid = u32::try_from(found.pid).ok().filter(|pid| *pid != 0);
    Ok(Credentials { pid, uid: found.uid, gid: found.gid })
}
