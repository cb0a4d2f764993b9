//! `brunt load` end to end: the real binary, a target in another process, real signals. Counts and texts; what judges a
//! measured time is in `tests/timing`.

mod calibration;
mod ci;
mod compare;
mod counted;
mod counts;
mod deploy;
mod endings;
#[cfg(feature = "fleet")]
mod fleet;
#[cfg(feature = "fleet")]
mod fleet_ceilings;
#[cfg(feature = "fleet")]
mod fleet_commands;
#[cfg(feature = "fleet")]
mod fleet_files;
#[cfg(feature = "fleet")]
mod fleet_guide;
#[cfg(feature = "fleet")]
mod fleet_hosts;
#[cfg(feature = "fleet")]
mod fleet_keys;
#[cfg(feature = "fleet")]
mod fleet_launch;
#[cfg(feature = "fleet")]
mod fleet_live;
#[cfg(feature = "fleet")]
mod fleet_meter;
#[cfg(feature = "fleet")]
mod fleet_scripts;
#[cfg(feature = "fleet")]
mod fleet_ssh;
#[cfg(feature = "fleet")]
mod fleet_targets;
mod groups;
mod http;
mod live;
mod many;
mod memory;
mod once;
mod pasted;
mod proxy;
mod remedies;
mod replay;
mod replies;
mod requests;
mod resets;
mod results;
mod script;
mod secrets;
mod service;
mod stages;
mod survivors;
mod tls;
mod usage;
mod verdicts;

#[path = "../shared"]
#[allow(dead_code, reason = "each test program uses a part of it")]
mod shared {
    pub mod band;
    pub mod consumers;
    pub mod fleet;
    pub mod proxy;
    pub mod recorder;
    pub mod screen;
    pub mod server;
    pub mod target;
}
