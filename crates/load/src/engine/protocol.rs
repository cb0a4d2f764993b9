//! What a protocol adds to the engine: its state on each load thread, and the task of each connection.
//!
//! A type parameter, not an object: what one protocol needs costs the requests of another nothing.

use super::worker::Worker;
use runtime::net::TcpStream;
use std::rc::Rc;

/// What one load thread says and understands; every connection's poll may touch it.
pub trait Protocol: Sized + 'static {
    /// Keeps connection `index` of this thread open and talking until the window is over. `stream` is its first one, if it
    /// could be opened.
    fn keep_talking(
        worker: Rc<Worker<Self>>,
        index: u32,
        stream: Option<TcpStream>,
    ) -> impl Future<Output = ()> + 'static;
}
