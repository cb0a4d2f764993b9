//! Where a target that is up is reached, and which process it is: on this machine, or on that of an agent of a fleet.

use crate::slices::Generator;
use crate::slices::account::{self, TargetAccount};
use brunt_meter::Scope;
use serde::{Deserialize, Serialize};
use std::net::{Ipv4Addr, SocketAddr};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Endpoint {
    pub address: SocketAddr,
    /// On its machine.
    pub pid: u32,
    /// The agent that has started it; `None` for one of this machine.
    pub agent: Option<String>,
}

impl Endpoint {
    /// Of this machine.
    pub fn here(port: u16, pid: u32) -> Self {
        Self { address: (Ipv4Addr::LOCALHOST, port).into(), pid, agent: None }
    }

    /// The account of the target for slices of a load of these words.
    pub(crate) fn account(
        &self,
        scope: Scope,
        generator: &dyn Generator,
        words: &[String],
    ) -> Option<Box<dyn TargetAccount>> {
        match self.agent {
            None => account::of_server(vec![self.pid], scope, None),
            Some(_) => generator.account(words),
        }
    }
}
