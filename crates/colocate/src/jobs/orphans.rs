//! Attempts whose runner has gone: what is left of them is killed before their jobs run again.

use super::process;
use crate::queue::{Active, AttemptId, Owner};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// For so long no process of an attempt may be found: one that its runner had just forked does not have its variable yet.
const SETTLE: Duration = Duration::from_millis(150);

#[derive(Debug)]
pub(super) struct Orphans {
    queue: PathBuf,
    /// Since when none of their processes has been found.
    quiet_since: HashMap<AttemptId, Instant>,
}

impl Orphans {
    pub(super) fn new(queue: &Path) -> Self {
        Self { queue: queue.to_owned(), quiet_since: HashMap::new() }
    }

    /// Kills processes of these attempts; returns the attempts of which certainly none is left.
    pub(super) fn without_processes(&mut self, all: &[Active], own: &Owner, now: Instant) -> Vec<AttemptId> {
        self.quiet_since.retain(|id, _| all.iter().any(|orphan| orphan.id == *id));
        let mut settled = Vec::new();
        for Active { id, owner, process: first, .. } in all {
            // Processes of another boot do not exist.
            let shares_pids = owner.shares_pids_with(own);
            let recorded = first.filter(|_| shares_pids).is_some_and(process::kill_recorded);
            let marked = shares_pids && process::kill_marked(&process::mark(&self.queue, *id));
            let quiet_since = self.quiet_since.entry(*id).or_insert(now);
            if recorded || marked {
                *quiet_since = now;
            } else if !shares_pids || now.duration_since(*quiet_since) >= SETTLE {
                settled.push(*id);
            }
        }
        settled
    }
}
