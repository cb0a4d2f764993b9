//! One server made of several processes: for more connections than one may have files, or because that is its model.
//!
//! The parent serves nobody. It starts the processes, lets all of them get ready, and only then gives each its listeners:
//! either all the same ones (preforked), or each its own ([`tcp`]), on which the parent listens within moments,
//! so that no client meets a part of the server, and the address is nobody else's. The kernel deals connections to these
//! by a hash of their addresses (SO_REUSEPORT), evenly but for chance, for which each process has room. A process that is
//! lost ends the server: the others could not hold what was promised.

mod messages;
mod parent;
mod worker;

pub(crate) use parent::on_one_listener;
pub use parent::tcp;
pub use worker::run_worker;

use crate::Options;

/// What makes a process of this program part of a server: whoever links this crate answers these arguments with a call of
/// [`run_worker`].
pub const WORKER_ARGS: [&str; 2] = ["worker", "serve"];
/// Files of a worker beside its connections: listener, ring or epoll set, wake-up, and some to spare.
const EACH_WORKER: u64 = 8;
/// Standard input, output and error, what a process may inherit, and some to spare.
const OF_A_PROCESS: u64 = 48;
/// By so many standard deviations a process may have more connections than the mean. Of a thousand processes one has
/// more in one of a million runs.
const DEVIATIONS: f64 = 6.0;

/// Which workers, by their cores, each process has: as few processes as hold so many connections, of which each may have as
/// many files as this one. `None` if no number of processes would do.
pub fn layout(options: &Options, connections: u64) -> Option<Vec<Vec<Option<usize>>>> {
    let limit = brunt_multiprocess::fd_limit::hard();
    brunt_multiprocess::partition(&options.workers, connections, |part| {
        let beside = OF_A_PROCESS + part.slots * (EACH_WORKER + options.listen.len() as u64);
        most_of(part).saturating_add(beside) <= limit
    })
}

/// The most connections that one process will get.
fn most_of(part: brunt_multiprocess::Part) -> u64 {
    match part.processes {
        1 => part.connections,
        _ => part.connections.saturating_add((DEVIATIONS * (part.connections as f64).sqrt()).ceil() as u64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use brunt_multiprocess::Part;

    #[test]
    fn one_process_needs_no_room_for_chance_and_several_do() {
        let of = |processes, connections| most_of(Part { processes, slots: 1, connections });
        assert_eq!((of(1, 10_000), of(2, 10_000), of(50, 19_600)), (10_000, 10_600, 20_440));
        assert_eq!(of(2, u64::MAX), u64::MAX);
    }
}
