//! What a protocol adds to the engine: its state on each load thread, and the task of each connection.
//!
//! A type parameter, not an object: what one protocol needs costs the requests of another nothing.

use super::worker::Worker;
use brunt_runtime::net::TcpStream;
use std::{io, rc::Rc};

/// What one load thread says and understands; every connection's poll may touch it.
pub trait Protocol: Sized + 'static {
    /// An open connection that is ready for requests.
    type Link: 'static;

    /// Makes connection `index` of this thread ready, now that the target has accepted it: part of connecting.
    fn prepare(worker: &Worker<Self>, index: u32, stream: TcpStream) -> impl Future<Output = io::Result<Self::Link>>;

    /// Keeps connection `index` of this thread open and talking until the window is over. `link` is its first one, if it
    /// could be opened.
    fn keep_talking(
        worker: Rc<Worker<Self>>,
        index: u32,
        link: Option<Self::Link>,
    ) -> impl Future<Output = ()> + 'static;
}
