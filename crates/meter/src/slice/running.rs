//! Whether a thread of a process tree is running now: its CPU time is up to a tick old then.

use crate::{proc, process::Tree};
use std::{fs::File, os::unix::fs::FileExt};

/// Most threads whose states are looked at: each costs about 3 us.
const MAX_THREADS: u64 = 64;

/// The files with the states of all threads of a tree, kept open.
#[derive(Debug, Default)]
pub(super) struct Running {
    threads: Vec<File>,
}

impl Running {
    /// `None` with more than 64 threads, or if threads come and go too fast to be looked at.
    pub(super) fn any(&mut self, tree: &Tree) -> Option<bool> {
        let count: u64 = tree.members().filter(|member| !member.stat.ended).map(|member| member.stat.threads).sum();
        if count > MAX_THREADS {
            return None;
        }
        for _ in 0..3 {
            if self.threads.len() as u64 == count
                && let Some(running) = self.look()
            {
                return Some(running);
            }
            self.open(tree);
        }
        self.look()
    }

    fn open(&mut self, tree: &Tree) {
        let each = |pid: u32| {
            let file = move |tid: u32| File::open(format!("/proc/{pid}/task/{tid}/stat")).ok();
            proc::threads_of(pid).into_iter().filter_map(file)
        };
        self.threads = tree.pids().into_iter().flat_map(each).collect();
    }

    /// `None` if a thread has ended.
    fn look(&self) -> Option<bool> {
        let mut any = false;
        for thread in &self.threads {
            let mut text = [0; 128];
            let length = thread.read_at(&mut text, 0).ok()?;
            any |= is_running(&text[..length])?;
        }
        Some(any)
    }
}

/// From the begin of `/proc/PID/stat`: the state follows the last bracket of the name, which has at most 64 bytes.
fn is_running(stat: &[u8]) -> Option<bool> {
    let name = stat.windows(2).rposition(|pair| pair == b") ")?;
    stat.get(name + 2).map(|state| *state == b'R')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_read_and_own_thread_is_running() {
        assert_eq!(is_running(b"12 (a) R) S 1 12 12 0 -1"), Some(false));
        assert_eq!(is_running(b"12 (kworker/0:1-events) R 1 12 12"), Some(true));
        assert_eq!(is_running(b"12 (a"), None);
        let tree = Tree::new(&[std::process::id()]).unwrap();
        // Threads of other tests start and end meanwhile, so that one look may find none of its three tries whole.
        let found = std::iter::repeat_with(|| Running::default().any(&tree)).flatten().next();
        assert_eq!(found, Some(true));
    }
}
