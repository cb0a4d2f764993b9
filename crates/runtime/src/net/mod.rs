//! Sockets: TCP and Unix streams and listeners, UDP, and readiness of any descriptor.

mod address;
mod async_fd;
mod conn_handle;
mod copy;
mod listener;
mod methods;
mod recv_buf;
mod resolve;
pub mod reuse_port;
mod socket_file;
mod splice;
mod split;
pub mod std_socket;
mod stream;
mod tcp;
mod tcp_socket;
mod udp;
mod unix;
mod unix_datagram;

pub use address::{Address, Any};
pub use async_fd::AsyncFd;
pub use copy::copy_both;
pub use listener::Listener;
pub use recv_buf::RecvBuf;
pub use resolve::{HostPort, resolve};
pub use split::{OwnedReadHalf, OwnedWriteHalf, ReadHalf, ReuniteError, WriteHalf};
pub use stream::{Family, IntoStd, RecvFuture, SendFuture, Stream};
pub use tcp::{Tcp, TcpListener, TcpStream};
pub use tcp_socket::TcpSocket;
pub use udp::{Datagram, UdpSocket};
pub use unix::{Credentials, Unix, UnixListener, UnixStream};
pub use unix_datagram::UnixDatagram;
