//! Sockets.

mod listener;
mod resolve;
mod stream;

pub use crate::lease::Lease;
pub use listener::TcpListener;
pub use resolve::{HostPort, resolve};
pub use stream::TcpStream;
