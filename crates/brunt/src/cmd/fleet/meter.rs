//! The server of a load is metered on the machine of an agent: what is asked and answered, and both ends.
//!
//! The agent has the meter that a load on its own machine would have. It reads it when it is asked to, on its own clock, so that a figure
//! of the window is exact for the window of the agent; that this one begins and ends a message later than that of the load is in the
//! result.

mod remote;
mod service;

pub(in crate::cmd) use remote::RemoteMeter;
pub(super) use service::open;

use brunt_meter::listener;
use brunt_results::result::{Host, Server};
use brunt_results::series::Second;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::time::Duration;

/// Of the service.
pub(super) const NAME: &str = "meter";

/// Which server.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Chosen<F> {
    pub flags: F,
    /// Where the load reaches it.
    pub addresses: Vec<String>,
}

/// A question to the meter.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Question {
    /// Which process it meters.
    Pid,
    /// The load has begun.
    Search,
    /// The window opens. The answer is how long that took, as of [`Question::Stop`].
    Open,
    /// A second is over.
    Sample,
    /// The window ends.
    Stop,
    /// The figures of a window in which so many requests completed.
    Close { completed: u64, window: Duration },
}

/// Answer to [`Question::Sample`].
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Sampled {
    pub second: Second,
    /// The process of the server that has exited.
    pub exited: Option<u32>,
    /// The one that took over since the last sample.
    pub renewed: Option<u32>,
}

/// Answer to [`Question::Close`], each with the reasons for absent figures by their names.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Closed {
    pub server: Server,
    pub host: Host,
    pub absent: BTreeMap<String, String>,
}

/// The processes of this machine that serve these addresses: those that listen there or, where an address is none of this machine,
/// as behind a forwarded port, those that listen on its port.
pub(super) fn listeners(addresses: &[String]) -> Result<Vec<u32>, String> {
    let mut roots = BTreeSet::new();
    for address in addresses {
        let found = listener::find(address).or_else(|why| by_port(address).ok_or(why))?;
        roots.extend(found.roots);
    }
    Ok(roots.into_iter().collect())
}

fn by_port(address: &str) -> Option<listener::Listeners> {
    let address: SocketAddr = address.parse().ok()?;
    let is_own = listener::is_local(address.ip());
    let others = listener::addresses_with(address.port());
    let [only] = &others[..] else { return None };
    listener::find(only).ok().filter(|_| !is_own)
}
