//! What became of the requests: recorded on each load thread, collected once a second, logged.

pub(crate) mod collector;
pub(crate) mod handshakes;
pub(crate) mod histogram;
pub(crate) mod hlog;
pub(crate) mod interval;
pub(crate) mod recorder;
pub(crate) mod replies;
