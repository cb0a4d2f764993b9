//! The meter of a server: on this machine, or on that of an agent.

use brunt_meter::ServerMeter;
use brunt_meter::everyone::Everyone;
use brunt_results::result::Server;
use brunt_results::series::Second;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// What an observer of a load asks of it; see [`ServerMeter`].
#[derive(Debug)]
pub(super) enum Meter {
    Here(Box<ServerMeter>),
    #[cfg(feature = "fleet")]
    There(Box<crate::cmd::fleet::RemoteMeter>),
}

impl Meter {
    /// Looks for what stands behind the server.
    pub fn search(&mut self) {
        match self {
            Self::Here(meter) => meter.search(),
            #[cfg(feature = "fleet")]
            Self::There(meter) => meter.search(),
        }
    }

    /// Opens the window. Returns the account of all processes of this machine.
    pub fn open(&mut self) -> Arc<Everyone> {
        match self {
            Self::Here(meter) => meter.open(),
            #[cfg(feature = "fleet")]
            Self::There(meter) => {
                meter.open();
                Arc::new(Everyone::take())
            }
        }
    }

    /// Fills in the figures of a second.
    pub fn sample(&mut self, second: &mut Second) {
        match self {
            Self::Here(meter) => meter.sample(second),
            #[cfg(feature = "fleet")]
            Self::There(meter) => meter.sample(second),
        }
    }

    /// Ends the window.
    pub fn stop(&mut self) {
        match self {
            Self::Here(meter) => meter.stop(),
            #[cfg(feature = "fleet")]
            Self::There(meter) => meter.stop(),
        }
    }

    /// The figures of the window, and the reasons for absent ones.
    pub fn close(&mut self, completed: u64, window: Duration) -> (Server, BTreeMap<String, String>) {
        match self {
            Self::Here(meter) => meter.close(completed, window),
            #[cfg(feature = "fleet")]
            Self::There(meter) => meter.close(completed, window),
        }
    }

    /// The process of the server that has exited, if none took over.
    pub fn exited(&self) -> Option<u32> {
        match self {
            Self::Here(meter) => meter.exited(),
            #[cfg(feature = "fleet")]
            Self::There(meter) => meter.exited(),
        }
    }

    /// Goes on with what listens now. Returns the process that took over, if one did.
    pub fn renew(&mut self) -> Option<u32> {
        match self {
            Self::Here(meter) => meter.renew(),
            #[cfg(feature = "fleet")]
            Self::There(meter) => meter.renewed(),
        }
    }

    /// The first process of the server.
    pub fn pid(&self) -> u32 {
        match self {
            Self::Here(meter) => meter.pid(),
            #[cfg(feature = "fleet")]
            Self::There(meter) => meter.pid(),
        }
    }

    /// Processes of this machine that are the server or stand behind it.
    pub fn service_pids(&self) -> Vec<u32> {
        match self {
            Self::Here(meter) => meter.service_pids(),
            #[cfg(feature = "fleet")]
            Self::There(_) => Vec::new(),
        }
    }
}
