//! Code shared by several TCP server models.

pub(crate) mod accept;
pub(crate) mod connection;
pub(crate) mod context;
pub(crate) mod reactor;
pub(crate) mod threads;
pub(crate) mod wake_fd;
