//! `Address`: an address of either family, and streams and listeners of a family that is known only at run time.

use super::socket_file::{self, SocketFile};
use super::stream::sealed::Sealed;
use super::{Family, Listener, Stream, TcpStream, UnixStream, listener::BACKLOG, tcp, unix};
use crate::named::named;
use crate::sys;
use socket2::{SockAddr, SockRef};
use std::fs::{self, File};
use std::net::{Ipv4Addr, SocketAddr};
use std::os::{fd::OwnedFd, unix::ffi::OsStrExt, unix::fs::FileTypeExt};
use std::path::{Path, PathBuf};
use std::{ffi::OsStr, fmt, io, str::FromStr};

/// The address of a stream socket, written `IP:PORT` or `unix:PATH`.
///
/// A path that begins with `@` is a name of Linux's abstract namespace. Host names are not accepted: a name can have several
/// addresses.
///
/// ```
/// use brunt_runtime::net::Address;
///
/// for text in ["127.0.0.1:7100", "[::1]:7100", "unix:/run/echo.sock", "unix:@echo"] {
///     assert_eq!(text.parse::<Address>().unwrap().to_string(), text);
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Address {
    /// An IP address and a port. Listening on port 0 lets the kernel choose one.
    Tcp(SocketAddr),
    /// A path; one that begins with a zero byte is an abstract name.
    Unix(PathBuf),
}

impl Address {
    /// The forms of an address, for help texts.
    pub const FORMS: &str = "IP:PORT or unix:PATH";

    /// Name of the family, and scheme of its URLs.
    pub fn scheme(&self) -> &'static str {
        match self {
            Self::Tcp(_) => "tcp",
            Self::Unix(_) => "unix",
        }
    }

    /// The TCP address, if this is one.
    pub fn tcp(&self) -> Option<SocketAddr> {
        match self {
            Self::Tcp(address) => Some(*address),
            Self::Unix(_) => None,
        }
    }

    /// Listens on an unused address of the same family on this machine. Each worker adopts a clone of the socket with
    /// [`Listener::from_std`].
    pub fn listen_unused(&self) -> io::Result<(OwnedFd, Self)> {
        let listening = || {
            let (socket, free) = match self {
                Self::Tcp(_) => {
                    let free = (Ipv4Addr::LOCALHOST, 0).into();
                    (tcp::socket(free)?, free.into())
                }
                // The kernel replaces an empty path by a free abstract name.
                Self::Unix(_) => (unix::socket()?, SockAddr::unix("")?),
            };
            sys::bind(&socket, &free)?;
            sys::listen(&socket, BACKLOG)?;
            let address = Any::address(sys::local_addr(&SockRef::from(&socket))?)?;
            Ok((socket.into(), address))
        };
        listening().map_err(|error| named("cannot listen on an unused address", error))
    }
}

impl From<SocketAddr> for Address {
    fn from(address: SocketAddr) -> Self {
        Self::Tcp(address)
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(f),
            Self::Unix(path) => write!(f, "unix:{}", socket_file::display(path)),
        }
    }
}

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let Some(path) = text.strip_prefix("unix:") else {
            let form = |_| "write an address and a port, such as 127.0.0.1:7100 or [::1]:7100".to_owned();
            return text.parse().map(Self::Tcp).map_err(form);
        };
        match path.strip_prefix("//").unwrap_or(path) {
            "" => Err("write the path of the socket, such as unix:/run/echo.sock".to_owned()),
            path => Ok(Self::Unix(path.strip_prefix('@').map_or(path.into(), |name| format!("\0{name}").into()))),
        }
    }
}

#[cfg(feature = "serde")]
impl serde::Serialize for Address {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(feature = "serde")]
impl<'de> serde::Deserialize<'de> for Address {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// Either family: [`Stream<Any>`] and [`Listener<Any>`] are TCP or Unix sockets, at no cost.
#[derive(Debug)]
pub enum Any {}

impl Sealed for Any {
    type Address = Address;
    fn address(address: SockAddr) -> io::Result<Address> {
        match (address.as_socket(), address.as_pathname(), address.as_abstract_namespace()) {
            (Some(address), ..) => Ok(Address::Tcp(address)),
            (_, Some(path), _) => Ok(Address::Unix(path.into())),
            (_, _, Some(name)) => Ok(Address::Unix(OsStr::from_bytes(&[b"\0", name].concat()).into())),
            _ => Ok(Address::Unix(PathBuf::new())),
        }
    }
}

impl Family for Any {
    type Addr = Address;
    type StdStream = OwnedFd;
    type StdListener = OwnedFd;
}

impl<F: Family> Stream<F> {
    /// The same stream without its family in the type.
    pub fn into_any(self) -> Stream<Any> {
        Stream::new(self.conn)
    }
}

impl Stream<Any> {
    /// Connects to `address`; a TCP stream comes from `source` if that is given, as by [`TcpStream::connect_from`].
    pub async fn connect_from(address: &Address, source: Option<SocketAddr>) -> io::Result<Self> {
        match address {
            Address::Tcp(address) => TcpStream::connect_from(*address, source).await.map(Stream::into_any),
            Address::Unix(path) => UnixStream::connect(path).await.map(Stream::into_any),
        }
    }
}

impl Listener<Any> {
    /// Listens on `address`. Replaces the socket file of a program that has ended; dropping the listener removes its file.
    ///
    /// # Errors
    /// `AddrInUse` if a program listens there, or the path is that of another file.
    pub fn bind(address: &Address) -> io::Result<Self> {
        let (socket, file) = match address {
            Address::Tcp(address) => (tcp::listen(*address, false)?, None),
            Address::Unix(path) => listen_unix(path)?,
        };
        Ok(Self::adopt(socket, file))
    }
}

/// Listens on `path`, and replaces the socket file of a program that has ended.
fn listen_unix(path: &Path) -> io::Result<(OwnedFd, Option<SocketFile>)> {
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
