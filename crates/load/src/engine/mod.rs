//! What one run needs whatever its protocol: connections, phases, scheduling of requests, coordination of load threads.

pub(crate) mod connect;
mod connect_pacer;
pub(crate) mod conversation;
pub(crate) mod coordinator;
mod dispatch;
pub(crate) mod exchange;
mod hosts;
pub(crate) mod limits;
pub(crate) mod peers;
pub(crate) mod protocol;
pub(crate) mod scheduler;
pub(crate) mod shared;
pub(crate) mod thread;
pub(crate) mod transport;
pub(crate) mod worker;
