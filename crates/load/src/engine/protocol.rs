//! Lifecycle of connections in a protocol. Most protocols implement [`super::exchange::Exchange`] instead.

use super::worker::Worker;
use std::{io, rc::Rc};

/// A protocol on one load thread. No dynamic dispatch: the needs of one protocol cost others nothing.
pub trait Protocol: Sized + 'static {
    type Link: 'static;

    /// Opens connection `index` of this thread, handshakes included. Calls [`Worker::accepted`] once the target has accepted
    /// it.
    fn open(worker: &Worker<Self>, index: u32) -> impl Future<Output = io::Result<Self::Link>>;

    /// Sends requests on connection `index` of this thread, and replaces it when it ends, until the window is over. `link`
    /// is the first connection, if it could be opened. Begins with [`Worker::set_waker`].
    fn keep_open(worker: Rc<Worker<Self>>, index: u32, link: Option<Self::Link>) -> impl Future<Output = ()> + 'static;
}
