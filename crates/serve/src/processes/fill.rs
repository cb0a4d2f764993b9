//! Directs new connections to one process of each core after the other, until all have most of their share.
//!
//! Connections that are opened one after another have their kernel memory side by side. If they are in the same process, a
//! process that works through its messages walks through neighbouring memory; spread over all processes by a hash, every
//! message is a cache miss (docs/guide/million.md has the cost). The rest of the shares is filled at random among the
//! processes with room, since connections go on to a process until its fullness is noticed. Those in its accept queue count:
//! a process that does not get its core for a tenth of a second has thousands there. The queue holds no more than the rest of
//! the share: if this process stands still as well, connections beyond it are dropped and repeated, and go elsewhere. One more
//! than a process may open files would wait in its queue for good.

use brunt_runtime::net::reuse_port;
use rustix::net::listen;
use std::net::TcpListener;
use std::time::Duration;

/// Part of a share that is filled in order; below [`EMPTIED`] it is filled in order again.
const IN_ORDER: f64 = 0.75;
const EMPTIED: f64 = 0.5;
/// Shares below this are filled by hash: the rest of a share must have room for all connections between two looks.
const LEAST_SHARE: u64 = 10_000;
/// Interval of looking while connections arrive, and while none do.
const SOON: Duration = Duration::from_millis(5);
const LATER: Duration = Duration::from_millis(50);

pub(crate) struct Fill {
    /// In the order of their listeners, which is their position in each group.
    processes: Vec<Process>,
    shares: Shares,
    /// Processes that get the new connections.
    chosen: Vec<u32>,
}

struct Process {
    pid: u32,
    /// One for each address; each address is a group.
    listeners: Vec<TcpListener>,
    /// Open files without connections.
    base: u64,
}

impl Process {
    /// Accepted and waiting.
    fn connections(&self) -> u64 {
        let queued = |listener| reuse_port::queue(listener).map_or(0, |queue| u64::from(queue.waiting));
        open_files(self.pid).saturating_sub(self.base) + self.listeners.iter().map(queued).sum::<u64>()
    }
}

/// Zero if the kernel does not tell (before Linux 6.2).
fn open_files(pid: u32) -> u64 {
    std::fs::metadata(format!("/proc/{pid}/fd")).map_or(0, |fd| fd.len())
}

impl Fill {
    /// Starts with the first processes. `listeners` are those of each process. `None` if shares are small, or the kernel cannot
    /// do it or tells no number of open files: connections are then distributed by hash.
    pub fn start(listeners: Vec<Vec<TcpListener>>, pids: &[u32], abreast: usize, share: u64) -> Option<Self> {
        let process = |(listeners, pid): (_, &u32)| Process { pid: *pid, listeners, base: open_files(*pid) };
        let processes: Vec<_> = listeners.into_iter().zip(pids).map(process).collect();
        let backlog = (share as f64 * (1.0 - IN_ORDER)) as i32;
        let limited = |process: &Process| process.listeners.iter().all(|one| listen(one, backlog).is_ok());
        let possible = share >= LEAST_SHARE && processes.iter().all(|process| process.base > 0 && limited(process));
        let shares = Shares { connections: vec![0; pids.len()], abreast, share, in_order: true };
        let mut fill = Self { processes, shares, chosen: Vec::new() };
        (possible && fill.direct()).then_some(fill)
    }

    /// Looks how full the processes are and goes on to others if need be. Returns when to look again.
    pub fn look(&mut self) -> Duration {
        let arrive = self.update(self.chosen.clone());
        if !arrive {
            self.update(0..self.processes.len() as u32);
        }
        self.direct();
        if arrive { SOON } else { LATER }
    }

    /// Returns whether a number of connections has changed.
    fn update(&mut self, processes: impl IntoIterator<Item = u32>) -> bool {
        processes.into_iter().fold(false, |changed, process| {
            let now = self.processes[process as usize].connections();
            changed | (std::mem::replace(&mut self.shares.connections[process as usize], now) != now)
        })
    }

    fn direct(&mut self) -> bool {
        let next = self.shares.choose();
        if next == self.chosen {
            return true;
        }
        self.chosen = next;
        self.processes[0].listeners.iter().all(|listener| reuse_port::direct_to(listener, &self.chosen).is_ok())
    }
}

/// Which processes get the next connections. Pure.
struct Shares {
    /// Of each process.
    connections: Vec<u64>,
    /// Processes that are filled at the same time: one for each core.
    abreast: usize,
    /// Connections that a process is to get.
    share: u64,
    in_order: bool,
}

impl Shares {
    fn choose(&mut self) -> Vec<u32> {
        let all = 0..self.connections.len();
        let below = |process: usize, part: f64| (self.connections[process] as f64) < self.share as f64 * part;
        let part = if self.in_order { IN_ORDER } else { EMPTIED };
        let round = |start: usize| start..(start + self.abreast).min(all.end);
        let next = all.clone().step_by(self.abreast).map(round).find(|round| round.clone().all(|one| below(one, part)));
        self.in_order = next.is_some();
        let with_room: Vec<_> = next.unwrap_or(all.clone()).filter(|one| below(*one, 1.0)).collect();
        let chosen = if with_room.is_empty() { all.collect() } else { with_room };
        chosen.into_iter().map(|process| process as u32).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::listen;
    use brunt_testkit::Running;
    use proptest::prelude::*;
    use proptest::sample::Index;
    use std::io::{Read as _, Write as _};
    use std::process::{Command, Stdio};

    proptest! {
        /// Connections go on to the chosen processes for a while after each look.
        #[test]
        fn processes_are_filled_in_order_and_none_beyond_its_share_by_much(
            rounds in 1usize..20,
            abreast in 1usize..4,
            bursts in proptest::collection::vec(1u64..200, 1..2000),
            picks in proptest::collection::vec(any::<Index>(), 64),
        ) {
            let (share, count) = (1000, rounds * abreast);
            let mut shares = Shares { connections: vec![0; count], abreast, share, in_order: true };
            let mut left = share * count as u64;
            let mut picks = picks.iter().cycle();
            for burst in bursts.iter().cycle() {
                let burst = left.min(*burst);
                let chosen = shares.choose();
                if shares.in_order {
                    let first = chosen[0] as usize;
                    prop_assert!(shares.connections[..first].iter().any(|full| *full >= 750) || first == 0);
                }
                for _ in 0..burst {
                    let to = chosen[picks.next().unwrap().index(chosen.len())];
                    shares.connections[to as usize] += 1;
                }
                left -= burst;
                if left == 0 {
                    break;
                }
            }
            prop_assert_eq!(shares.connections.iter().sum::<u64>(), share * count as u64);
            prop_assert!(shares.connections.iter().all(|one| *one <= share + 200), "{:?}", shares.connections);
        }
    }

    /// As one that is stopped does: only its queue shows how many connections it got.
    #[test]
    fn a_process_that_accepts_none_gets_no_more_than_its_part() {
        if open_files(std::process::id()) == 0 {
            return println!("skipped: this kernel does not say how many files a process has open");
        }
        let reserved = listen::reserve(&["127.0.0.1:0".parse().unwrap()], true).unwrap();
        let address = reserved[0].address;
        // One that has begun to work opens and closes no more files.
        let mut idle = Running::start(Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::piped()));
        idle.child().stdin.as_mut().unwrap().write_all(b"x").unwrap();
        idle.child().stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
        let process = |_| {
            let listeners = vec![reserved[0].listener().unwrap()];
            listeners[0].set_nonblocking(true).unwrap();
            Process { pid: idle.pid(), listeners, base: open_files(idle.pid()) }
        };
        let processes: Vec<_> = (0..2).map(process).collect();
        let shares = Shares { connections: vec![0; 2], abreast: 1, share: 100, in_order: true };
        let mut fill = Fill { processes, shares, chosen: Vec::new() };
        assert!(fill.direct());
        // The queue, as far as the kernel lets it, holds the last quarter of a share.
        let listeners = fill.processes.iter().map(|one| vec![one.listeners[0].try_clone().unwrap()]).collect();
        Fill::start(listeners, &[idle.pid(); 2], 1, LEAST_SHARE).unwrap();
        assert!(reuse_port::queue(&fill.processes[1].listeners[0]).unwrap().limit <= LEAST_SHARE as u32 / 4);
        let _clients: Vec<_> = std::iter::repeat_with(|| {
            let client = std::net::TcpStream::connect(address).unwrap();
            fill.look();
            client
        })
        .take(150)
        .collect();
        let waiting: Vec<_> = fill.processes.iter().map(Process::connections).collect();
        assert_eq!(waiting, [75, 75]);
    }

    #[test]
    fn full_processes_share_what_comes_on_top_and_an_emptied_one_is_filled_first() {
        let mut shares = Shares { connections: vec![100, 100, 101, 100], abreast: 2, share: 100, in_order: false };
        assert_eq!(shares.choose(), [0, 1, 2, 3]);
        shares.connections = vec![60, 60, 100, 100];
        assert_eq!(shares.choose(), [0, 1]);
        shares.connections = vec![100, 100, 40, 40];
        assert_eq!(shares.choose(), [2, 3]);
        assert!(shares.in_order);
    }
}
