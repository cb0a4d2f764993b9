//! What every process of the machine has used by one moment: what one has used since then is known also if it is asked for later.

use crate::proc::Stat;
use crate::process_tree::{Member, Members, Used, living_ancestor};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

/// All processes at one moment. Taking it costs about 20 us a process.
#[derive(Debug)]
pub struct Everyone {
    pub(crate) at: Instant,
    pub(crate) members: Members,
}

impl Everyone {
    pub fn take() -> Self {
        let at = Instant::now();
        Self { at, members: Stat::all().into_iter().map(|stat| (stat.pid, Member::of(stat))).collect() }
    }

    /// What these processes and all their descendants had used, with the ended ones that one of them had waited for.
    pub(crate) fn trees(&self, roots: &[u32]) -> Used {
        let of_trees =
            self.members.values().filter(|member| self.lineage(member.stat.pid).any(|pid| roots.contains(&pid)));
        of_trees.fold(Used::default(), |sum, member| sum.plus(member.total()))
    }

    /// A process and its ancestors, without the first of all.
    pub(crate) fn lineage(&self, pid: u32) -> impl Iterator<Item = u32> {
        // A pid may be used again while this is read.
        let mut seen = BTreeSet::new();
        let parent = |pid: &u32| self.members.get(pid).map(|member| member.stat.parent);
        std::iter::successors(Some(pid), parent).take_while(move |pid| *pid > 1 && seen.insert(*pid))
    }

    /// What each process that lives at `now` has used since this moment, with its children that came and went in between.
    pub(crate) fn used_by(&self, now: &Self) -> BTreeMap<u32, Used> {
        let mut before: BTreeMap<u32, Used> = BTreeMap::new();
        for (pid, member) in &self.members {
            let lives = now.members.get(pid).is_some_and(|other| other.stat.started == member.stat.started);
            // What a process had used before it ended is in the account of the one that waited for it.
            let holder = if lives { Some(*pid) } else { living_ancestor(member, &self.members, &now.members) };
            if let Some(holder) = holder {
                let sum = before.entry(holder).or_default();
                *sum = sum.plus(member.total());
            }
        }
        let since =
            |(pid, member): (&u32, &Member)| (*pid, member.total().minus(before.get(pid).copied().unwrap_or_default()));
        now.members.iter().map(since).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use brunt_testkit::until;
    use std::process::Command;

    #[test]
    fn a_tree_is_known_from_before_it_is_asked_for_and_ended_children_count_for_their_parent() {
        let own = std::process::id();
        let before = Everyone::take();
        // Burns in children that end: a tenth of a second each.
        let burns = "while :; do timeout 0.1 sh -c 'while :; do :; done'; done";
        let mut shell = Command::new("sh").args(["-c", burns]).spawn().unwrap();
        let used = |pid: u32| {
            let now = Everyone::take();
            let by = before.used_by(&now).get(&pid).copied().unwrap_or_default();
            (by.nanos, now.trees(&[pid]).minus(before.trees(&[pid])).nanos)
        };
        until("its ended children have used a fifth of a second", || used(shell.id()).0 >= 200_000_000);
        let (by_itself, tree) = used(shell.id());
        shell.kill().and_then(|()| shell.wait()).unwrap();
        assert!(tree >= by_itself, "{tree} {by_itself}");
        let now = Everyone::take();
        assert!(now.lineage(own).next() == Some(own) && now.lineage(1).next().is_none());
        assert!(before.used_by(&now)[&own].nanos > 0);
    }
}
