//! The parts of a run that all protocols share: connections, phases, scheduling of requests, coordination of threads.

pub(crate) mod clock;
pub(crate) mod commands;
pub(crate) mod connect;
mod connect_pacer;
pub(crate) mod conversation;
pub(crate) mod coordinator;
mod dispatch;
pub(crate) mod exchange;
mod first_failures;
mod hosts;
pub(crate) mod inbox;
pub(crate) mod message;
pub(crate) mod others;
mod places;
pub(crate) mod scheduler;
pub(crate) mod shared;
pub(crate) mod slices;
mod staged;
pub(crate) mod thread;
pub(crate) mod trace;
pub(crate) mod transport;
mod tunnel;
mod warmup;
pub(crate) mod worker;
pub(crate) mod wrong_reply;
