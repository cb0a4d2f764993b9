//! Sockets.

mod listener;
mod stream;

pub use crate::lease::Lease;
pub use listener::TcpListener;
pub use stream::TcpStream;
