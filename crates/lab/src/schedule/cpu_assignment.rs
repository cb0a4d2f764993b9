//! Assigns cores to the server (the highest) and the generator (the lowest), so that they share none if possible. Pure,
//! except for [`Machine::here`] and [`busy`].

use crate::format::plural;
use crate::plan::{Pin, settings::ClientCores};
use brunt_meter::environment;
use brunt_results::Cores;
use serde::{Deserialize, Serialize};
use std::io;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Machine {
    pub cores: Vec<usize>,
    /// Most open files of a process.
    pub open_files: u64,
}

impl Machine {
    /// The affinity of this process, and its hard limit.
    pub fn here() -> io::Result<Self> {
        Ok(Self { cores: brunt_meter::affinity::allowed()?, open_files: environment::open_files().1 })
    }
}

/// Load average of the last minute, if above 0.5: high enough to distort figures.
pub fn busy() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/loadavg").ok()?;
    let load: f64 = text.split_whitespace().next()?.parse().ok()?;
    (load > 0.5).then_some(load)
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Placement {
    pub server: Cores,
    pub client: Cores,
    /// Whether the target may also run on other cores.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub free: bool,
    /// Whether the cores of the target are those of another machine, of which only the number is known here.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub elsewhere: bool,
}

impl Placement {
    /// The cores of the target, for readers.
    pub fn server_words(&self) -> String {
        match self {
            Self { elsewhere: true, server, .. } => format!("{} of another machine", plural(server.count(), "core")),
            Self { free: true, .. } => "any core".to_owned(),
            Self { server, .. } => server.to_string(),
        }
    }

    /// Whether target and generator share a core and disturb each other.
    pub fn shared(&self) -> bool {
        !self.elsewhere && self.server.0.iter().any(|core| self.client.0.contains(core))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("needs {server} server + {client} generator cores, this machine has {have}")]
pub struct TooFewCores {
    pub server: usize,
    pub client: usize,
    pub have: usize,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "kebab-case")]
pub enum SkipReason {
    #[error("{0}")]
    Cores(TooFewCores),
    /// Any other reason, with a remedy if there is one.
    #[error("{0}")]
    Other(String),
}

pub fn assign_cores(machine: &Machine, pin: &Pin, server: usize, client: ClientCores) -> Result<Placement, SkipReason> {
    let have = machine.cores.len();
    // Candidates for the server and for the generator.
    let (servers, rest) = match pin {
        Pin::To(wanted) => {
            if let Some(absent) = wanted.0.iter().find(|core| !machine.cores.contains(core)) {
                return Err(SkipReason::Other(format!("pinned to core {absent}, which this process may not use")));
            }
            if wanted.count() < server {
                return Err(SkipReason::Other(format!(
                    "pinned to {wanted}, which is fewer than {server} server cores"
                )));
            }
            let taken = &wanted.0[..server];
            (taken.to_vec(), machine.cores.iter().copied().filter(|core| !taken.contains(core)).collect())
        }
        Pin::Automatic | Pin::Free => {
            let split = have.saturating_sub(server);
            (machine.cores[split..].to_vec(), machine.cores[..split].to_vec())
        }
    };
    let wanted = wanted(client, server, have.saturating_sub(server).max(1));
    let (free, elsewhere) = (*pin == Pin::Free, false);
    // The only case of sharing: a machine with one core; the verdict says so.
    if have == 1 && server == 1 && wanted == 1 {
        return Ok(Placement {
            server: Cores(machine.cores.clone()),
            client: Cores(machine.cores.clone()),
            free,
            elsewhere,
        });
    }
    if server > servers.len() || wanted > rest.len() {
        return Err(SkipReason::Cores(TooFewCores { server, client: wanted, have }));
    }
    Ok(Placement { server: Cores(servers), client: Cores(rest[..wanted].to_vec()), free, elsewhere })
}

/// How many cores the generator is to have beside these of the target, which leave it so many.
fn wanted(client: ClientCores, server: usize, left: usize) -> usize {
    match client {
        ClientCores::Fixed(n) => n,
        ClientCores::PerServerCore(n) => n.saturating_mul(server),
        ClientCores::Rest => left,
    }
}

/// The generator's cores beside a target that has its own on another machine.
pub fn assign_elsewhere(machine: &Machine, server: usize, client: ClientCores) -> Result<Placement, SkipReason> {
    let have = machine.cores.len();
    let wanted = wanted(client, server, have);
    if wanted > have {
        return Err(SkipReason::Cores(TooFewCores { server: 0, client: wanted, have }));
    }
    let (server, client) = (Cores((0..server).collect()), Cores(machine.cores[..wanted].to_vec()));
    Ok(Placement { server, client, free: false, elsewhere: true })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_server_takes_the_highest_cores_and_the_generator_the_lowest_others() {
        let to = |list: &str| Pin::To(list.parse().unwrap());
        for (cores, pin, server, client, expected) in [
            ("0,2-3,7", Pin::Automatic, 2, ClientCores::Fixed(1), "3,7 and 0"),
            ("0-4", Pin::Automatic, 1, ClientCores::PerServerCore(4), "4 and 0-3"),
            ("0-2", Pin::Automatic, 1, ClientCores::Rest, "2 and 0-1"),
            ("0-1", Pin::Free, 1, ClientCores::Fixed(1), "1 and 0, free"),
            // The first of the cores that the server is pinned to, and none of those for the generator.
            ("0-3", to("0,2-3"), 2, ClientCores::Rest, "0,2 and 1,3"),
            ("0-3", to("7"), 1, ClientCores::Fixed(1), "pinned to core 7, which this process may not use"),
            ("0-3", to("2-3"), 3, ClientCores::Fixed(1), "pinned to 2-3, which is fewer than 3 server cores"),
            ("0-3", to("2-3"), 1, ClientCores::Fixed(4), "needs 1 server + 4 generator cores, this machine has 4"),
            ("0-1", Pin::Automatic, 4, ClientCores::Fixed(1), "needs 4 server + 1 generator cores, this machine has 2"),
            ("0-1", Pin::Automatic, 2, ClientCores::Rest, "needs 2 server + 1 generator cores, this machine has 2"),
            ("5", Pin::Automatic, 1, ClientCores::Rest, "5 and 5, shared"),
            ("5", Pin::Automatic, 1, ClientCores::Fixed(2), "needs 1 server + 2 generator cores, this machine has 1"),
        ] {
            let machine = Machine { cores: cores.parse::<Cores>().unwrap().0, open_files: 1 << 20 };
            let seen = match assign_cores(&machine, &pin, server, client) {
                Ok(placed) => {
                    let (shared, free) =
                        (if placed.shared() { ", shared" } else { "" }, if placed.free { ", free" } else { "" });
                    format!("{} and {}{shared}{free}", placed.server, placed.client)
                }
                Err(why) => why.to_string(),
            };
            assert_eq!(seen, expected, "{cores} {pin:?} {server} {client:?}");
        }
    }

    proptest! {
        #[test]
        fn two_sides_on_more_than_one_core_never_meet(have in 2usize..40, server in 1usize..50, client in 1usize..50) {
            let machine = Machine { cores: (0..have).collect(), open_files: 1 << 20 };
            match assign_cores(&machine, &Pin::Automatic, server, ClientCores::Fixed(client)) {
                Ok(placed) => {
                    prop_assert!(!placed.shared());
                    prop_assert_eq!((placed.server.count(), placed.client.count()), (server, client));
                }
                Err(_) => prop_assert!(server + client > have),
            }
        }
    }
}
