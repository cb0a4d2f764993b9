//! Membership of a process tree and what all of it has used so far.
//!
//! When a process ends and its parent waits for it, the kernel adds its time and page faults, and those of its own
//! waited-for children, to the parent's `cutime`, `cstime`, `cminflt` and `cmajflt`. The sum of own and reaped usage over
//! living members is therefore unchanged by an exit. Exits that no living member inherits (the parent ignores SIGCHLD, or
//! is not in the tree) are kept here, as last seen.
//!
//! Invariants: the sum never falls and never loses a process that ended.

use crate::{proc, proc::Stat, process_clock};
use std::collections::{BTreeMap, HashMap, HashSet};

/// CPU time and page faults since the processes began.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Used {
    /// CPU time, user and system, from the process CPU clock where there is one.
    pub nanos: u64,
    pub user_ticks: u64,
    pub system_ticks: u64,
    pub minor_faults: u64,
    pub major_faults: u64,
}

impl Used {
    fn zip(self, other: Self, f: impl Fn(u64, u64) -> u64) -> Self {
        Self {
            nanos: f(self.nanos, other.nanos),
            user_ticks: f(self.user_ticks, other.user_ticks),
            system_ticks: f(self.system_ticks, other.system_ticks),
            minor_faults: f(self.minor_faults, other.minor_faults),
            major_faults: f(self.major_faults, other.major_faults),
        }
    }

    pub(crate) fn plus(self, other: Self) -> Self {
        self.zip(other, u64::saturating_add)
    }

    /// The difference of each field, at least zero.
    pub(crate) fn minus(self, other: Self) -> Self {
        self.zip(other, u64::saturating_sub)
    }

    /// Of one process and the children that it waited for.
    pub(crate) fn by(pid: u32) -> Option<Self> {
        Some(Member::of(Stat::of(pid)?).total())
    }

    fn own(stat: &Stat) -> Self {
        let ticks = (stat.user_ticks + stat.system_ticks) * proc::tick_ns();
        let nanos = process_clock::process_cpu(stat.pid).map_or(ticks, |cpu| cpu.as_nanos() as u64);
        Self {
            nanos,
            user_ticks: stat.user_ticks,
            system_ticks: stat.system_ticks,
            minor_faults: stat.minor_faults,
            major_faults: stat.major_faults,
        }
    }

    fn reaped(stat: &Stat) -> Self {
        let (user_ticks, system_ticks) = (stat.reaped_user_ticks, stat.reaped_system_ticks);
        Self {
            nanos: (user_ticks + system_ticks) * proc::tick_ns(),
            user_ticks,
            system_ticks,
            minor_faults: stat.reaped_minor_faults,
            major_faults: stat.reaped_major_faults,
        }
    }
}

pub(crate) type Members = BTreeMap<u32, Member>;

/// One process of the tree, as last seen.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Member {
    pub stat: Stat,
    own: Used,
    /// Of children that ended and were waited for.
    reaped: Used,
}

impl Member {
    pub(crate) fn of(stat: Stat) -> Self {
        Self { own: Used::own(&stat), reaped: Used::reaped(&stat), stat }
    }

    pub(crate) fn reaped_nanos(&self) -> u64 {
        self.reaped.nanos
    }

    /// With that of children that it waited for.
    pub(crate) fn total(&self) -> Used {
        self.own.plus(self.reaped)
    }
}

/// One or more processes and all their descendants.
#[derive(Debug)]
pub struct ProcessTree {
    members: Members,
    /// Usage of exited members that no living one inherited.
    exited: Used,
    /// Usage, before observation began, of members found later.
    earlier: Used,
    /// The largest sum so far: readings that race with an exit must not lower it.
    total: Used,
    /// When observation began, in ticks since boot.
    began: u64,
    last_pid: Option<u32>,
}

impl ProcessTree {
    /// Observes these processes and all their descendants. Leaves out the calling process and its own descendants unless it
    /// is named: a meter started by its target is not part of the target.
    pub fn observe(roots: &[u32]) -> Self {
        let members = roots.iter().filter_map(|pid| Some((*pid, Member::of(Stat::of(*pid)?)))).collect();
        let began = proc::boot_ticks();
        let (exited, earlier, total) = Default::default();
        let mut tree = Self { members, exited, earlier, total, began, last_pid: None };
        tree.refresh();
        tree.earlier = Used::default();
        tree
    }

    /// Observes these processes and their descendants too: with all that they have used, if they are younger than the observation.
    /// Returns those that are new; without any, nothing is read.
    pub(crate) fn add(&mut self, roots: &[u32]) -> Vec<u32> {
        let is_new = |pid: &&u32| !self.members.contains_key(pid);
        let fresh: Vec<Stat> = roots.iter().filter(is_new).filter_map(|pid| Stat::of(*pid)).collect();
        fresh.iter().for_each(|stat| self.insert(*stat));
        if !fresh.is_empty() {
            self.last_pid = None;
            self.refresh();
        }
        fresh.iter().map(|stat| stat.pid).collect()
    }

    /// CPU time of one process and the children that it waited for, in seconds; also just after it has ended.
    pub fn cpu_seconds_by(pid: u32) -> Option<f64> {
        Used::by(pid).map(|used| used.nanos as f64 / 1e9)
    }

    /// CPU time of all members, living and ended, since observation began, in seconds. Reads every member again.
    pub fn cpu_seconds(&mut self) -> f64 {
        self.refresh().nanos as f64 / 1e9
    }

    /// The same of the known members, without looking for new ones: cheap whatever else the machine forks.
    pub fn known_cpu_seconds(&mut self) -> f64 {
        self.refresh_members().nanos as f64 / 1e9
    }

    pub(crate) fn members(&self) -> impl Iterator<Item = &Member> {
        self.members.values()
    }

    /// Whether any member was running when they were last read.
    pub fn is_alive(&self) -> bool {
        self.members.values().any(|member| !member.stat.ended)
    }

    /// Reads every member again, adds new ones, and returns what the whole tree has used.
    pub(crate) fn refresh(&mut self) -> Used {
        self.refresh_known();
        self.add_descendants();
        self.sum()
    }

    /// Reads every member again, without looking for new ones.
    pub(crate) fn refresh_members(&mut self) -> Used {
        self.refresh_known();
        self.sum()
    }

    fn refresh_known(&mut self) {
        let before = std::mem::take(&mut self.members);
        let again = |(pid, member): (&u32, &Member)| {
            let stat = Stat::of(*pid).filter(|stat| stat.started == member.stat.started)?;
            Some((*pid, Member::of(stat)))
        };
        self.members = before.iter().filter_map(again).collect();
        self.exited = self.exited.plus(account_exited(&before, &self.members));
    }

    fn sum(&mut self) -> Used {
        let sum = self.members.values().fold(self.exited, |sum, member| sum.plus(member.total()));
        self.total = sum.minus(self.earlier).zip(self.total, u64::max);
        self.total
    }

    /// Adds a process; what it had used before the observation began is none of the tree's.
    fn insert(&mut self, stat: Stat) {
        let member = Member::of(stat);
        if stat.started < self.began {
            self.earlier = self.earlier.plus(member.total());
        }
        self.members.insert(stat.pid, member);
    }

    /// Adds processes forked by members since the last refresh.
    fn add_descendants(&mut self) {
        let last_pid = proc::last_pid();
        if last_pid.is_some() && last_pid == self.last_pid {
            return;
        }
        self.last_pid = last_pid;
        let own = std::process::id();
        let mut children: HashMap<u32, Vec<Stat>> = HashMap::new();
        for stat in Stat::all() {
            children.entry(stat.parent).or_default().push(stat);
        }
        let mut known: HashSet<u32> = self.members.keys().copied().collect();
        let mut parents: Vec<u32> = known.iter().copied().collect();
        while let Some(parent) = parents.pop() {
            for stat in children.remove(&parent).unwrap_or_default() {
                if stat.pid == own || !known.insert(stat.pid) {
                    continue;
                }
                parents.push(stat.pid);
                self.insert(stat);
            }
        }
    }
}

/// What the members of `before` that are not `living` had used and their nearest living ancestors did not inherit.
fn account_exited(before: &Members, living: &Members) -> Used {
    let mut by_heir: HashMap<Option<u32>, Used> = HashMap::new();
    for member in before.iter().filter(|(pid, _)| !living.contains_key(pid)).map(|(_, member)| member) {
        let used = by_heir.entry(living_ancestor(member, before, living)).or_default();
        *used = used.plus(member.total());
    }
    by_heir.into_iter().fold(Used::default(), |sum, (heir, used)| {
        let inherited = heir.map_or(Used::default(), |pid| living[&pid].reaped.minus(before[&pid].reaped));
        sum.plus(used.minus(inherited))
    })
}

/// The nearest living ancestor of an exited member; parents that exited as well had inherited first and passed it on.
pub(crate) fn living_ancestor(exited: &Member, before: &Members, living: &Members) -> Option<u32> {
    let mut pid = exited.stat.parent;
    while !living.contains_key(&pid) {
        let parent = before.get(&pid)?.stat.parent;
        if parent == pid {
            return None;
        }
        pid = parent;
    }
    Some(pid)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Members by pid, parent, own and reaped nanoseconds.
    fn members(all: &[(u32, u32, u64, u64)]) -> Members {
        let used = |nanos| Used { nanos, ..Used::default() };
        let member = |&(pid, parent, own, reaped): &(u32, u32, u64, u64)| {
            (pid, Member { stat: Stat { pid, parent, ..Stat::default() }, own: used(own), reaped: used(reaped) })
        };
        all.iter().map(member).collect()
    }

    #[test]
    fn exited_members_are_kept_as_far_as_no_ancestor_inherited_them() {
        // 1 is the root, 2 its child, 3 and 4 children of 2.
        let before = members(&[(1, 0, 10, 0), (2, 1, 20, 5), (3, 2, 30, 0), (4, 2, 40, 0)]);
        let kept = |living: &[(u32, u32, u64, u64)]| account_exited(&before, &members(living)).nanos;
        assert_eq!(kept(&[(1, 0, 11, 0), (2, 1, 21, 5), (3, 2, 31, 0), (4, 2, 40, 0)]), 0);
        // The parent waited for 3; it ignored 4; it did something in between, which is more than it lost.
        assert_eq!(kept(&[(1, 0, 10, 0), (2, 1, 20, 35), (4, 2, 40, 0)]), 0);
        assert_eq!(kept(&[(1, 0, 10, 0), (2, 1, 20, 35)]), 40);
        assert_eq!(kept(&[(1, 0, 10, 0), (2, 1, 20, 99)]), 0);
        // 2 and 3 ended and passed on what they had used, and 4 was adopted by a process outside of the tree.
        assert_eq!(kept(&[(1, 0, 10, 55), (4, 9, 40, 0)]), 0);
        // The root is gone: nothing inherits.
        assert_eq!(kept(&[]), 105);
    }
}
