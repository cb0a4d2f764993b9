//! How long the threads of a set of processes waited for a core, for frequent reads.
//!
//! The kernel adds a wait to its account when it ends: one that goes on is seen later, in full. Threads that live for less than
//! two reads are missed.

use crate::proc;
use crate::schedstat::scheduled;
use std::collections::HashMap;
use std::fs::File;
use std::time::Duration;

/// Most threads that are read: each costs about 3 us and a descriptor.
const MAX_THREADS: usize = 512;

/// The threads, with their files kept open.
#[derive(Debug, Default)]
pub struct RunQueue {
    threads: HashMap<u32, Thread>,
}

#[derive(Debug)]
struct Thread {
    schedstat: File,
    waited: Duration,
}

impl RunQueue {
    /// The longest wait of any thread of these processes since the last call; a thread counts from the call that finds it.
    /// `None` where the kernel has no such account (CONFIG_SCHED_INFO), and of more than 512 threads.
    pub fn longest(&mut self, pids: &[u32]) -> Option<Duration> {
        let tids: Vec<u32> = pids.iter().flat_map(|pid| proc::threads_of(*pid)).collect();
        if tids.len() > MAX_THREADS {
            self.threads.clear();
            return None;
        }
        let mut before = std::mem::take(&mut self.threads);
        let mut longest = None;
        for tid in tids {
            let known = before.remove(&tid);
            let found = || {
                Some(Thread { schedstat: File::open(format!("/proc/{tid}/schedstat")).ok()?, waited: Duration::MAX })
            };
            let Some(mut thread) = known.or_else(found) else { continue };
            // A kernel without the account shows zeros.
            let Some(now) = scheduled(&thread.schedstat).filter(|now| !now.cpu.is_zero()) else { continue };
            longest = longest.max(Some(now.wait.saturating_sub(thread.waited)));
            thread.waited = now.wait;
            self.threads.insert(tid, thread);
        }
        longest
    }
}
