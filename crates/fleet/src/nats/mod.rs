//! Agents and coordinators on NATS: sockets, clocks and files around the pure cores.
//!
//! - Orders, answers, events and seconds are plain messages, which NATS delivers at most once. What is lost is asked for again by the
//!   cores, and an agent keeps its seconds on disk, so that nothing needs a stream that NATS stores.
//! - Nothing is sent while the connection is down: what would wait there would arrive late.
//! - Files that a load names are asked for by the agents, piece by piece, and known by the digest that the signed order names.
//! - Every order but a question about the clock is signed by the operator. An agent obeys no other: whoever takes over the NATS
//!   server can stop a load, but start none.
//! - A key is that of one agent, of a launch or of an operator, and the NATS server lets it say and hear what is its own.
//!
//! Subjects, each in its version: `docs/internals/fleet.md`.

mod about;
mod access;
mod asking;
mod bus;
mod cache;
mod clock;
mod collect;
mod fetch;
#[cfg(test)]
mod fuzz;
mod journal;
mod offered;
mod rights;
mod run;
mod serve;
mod session;
mod signed;
mod subject;
mod whole;

pub use about::{About, Busy, is_id};
pub use access::{Access, Key, write_secret};
pub use asking::{Survey, agents, is_known, stop, survey};
pub use bus::{OLDEST_SERVER, is_recent};
pub use clock::now;
pub use collect::{Collected, collect};
pub use fetch::Files;
pub use journal::{Journal, clean};
pub use offered::Offered;
pub use rights::{Holder, Rights};
pub use run::{Begun, Run, Sink};
pub use serve::{Load, Loads, Machine, Service, Services, Settings, Tell, Told, serve};
pub use session::{Session, Waiting};

use std::io;
use thiserror::Error;

/// Why there is no fleet, in one line.
#[derive(Debug, Error)]
pub enum FleetError {
    /// The NATS server cannot be reached.
    #[error("no connection to the fleet at {url} ({why}): see whether 'brunt fleet up' runs there and can be reached")]
    Connect {
        /// Its URL.
        url: String,
        /// Why, as the client says.
        why: String,
    },
    /// The NATS server does not know the key.
    #[error("the fleet at {url} does not know this key: 'brunt fleet key' makes another")]
    Key {
        /// Its URL.
        url: String,
    },
    /// The NATS server is too old.
    #[error("nats-server {version} at {url} is older than {}: install a later one", bus::OLDEST_SERVER)]
    Old {
        /// Its URL.
        url: String,
        /// Its version.
        version: String,
    },
    /// A file of keys cannot be used.
    #[error("{path}: {why}")]
    Access {
        /// The file.
        path: String,
        /// Why, and what to do.
        why: String,
    },
    /// The id of an agent is in use.
    #[error("an agent '{id}' is there already, on {host}: give this one another --id")]
    Twice {
        /// The id.
        id: String,
        /// Where that one is.
        host: String,
    },
    /// An agent does not begin a session.
    #[error("agent {agent}: {why}")]
    Session {
        /// Its id.
        agent: String,
        /// Why.
        why: String,
    },
    /// Something local failed.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The connection has ended for good.
    #[error("the connection to the fleet has ended ({0}): see the log of nats-server")]
    Ended(String),
}
