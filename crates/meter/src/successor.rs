//! The sockets that listen at the addresses of a server, looked at again: a reload, a restart or a successor on the same port replaces its processes.

use crate::listener;
use std::collections::BTreeSet;

#[derive(Debug, Default)]
pub(crate) struct Listened {
    /// `IP:PORT` or `unix:PATH`; none of a server that was given by its process.
    addresses: Vec<String>,
    /// Inodes of the sockets that listened there at the last look.
    sockets: BTreeSet<u64>,
}

impl Listened {
    pub(crate) fn new(addresses: Vec<String>) -> Self {
        let mut listened = Self { addresses, sockets: BTreeSet::new() };
        listened.sockets = listened.sockets_now();
        listened
    }

    fn sockets_now(&self) -> BTreeSet<u64> {
        self.addresses.iter().flat_map(|address| listener::sockets(address)).collect()
    }

    /// The processes to meter, if other sockets listen than at the last look, or if `anew`; `None` if nothing listens.
    pub(crate) fn roots(&mut self, anew: bool) -> Option<Vec<u32>> {
        let now = self.sockets_now();
        if now.is_empty() || !anew && now == self.sockets {
            return None;
        }
        let roots = listener::roots_of(&self.addresses).ok()?;
        self.sockets = now;
        Some(roots)
    }
}
