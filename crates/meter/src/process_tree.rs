//! The book of a process tree: who is in it, and what all of it has used so far.
//!
//! The sum must never fall and never lose a process that ended. It rests on one conservation law: when a process ends
//! and its parent waits for it, the kernel moves its time and its page faults, and those of its own waited-for children, to
//! the parent's `cutime`, `cstime`, `cminflt` and `cmajflt`. So `sum of (own + reaped)` over the living does not change at
//! a death. What the law misses is entered by hand: a death that no living member inherits (the parent ignores SIGCHLD, or
//! was not in the tree) keeps what it was last seen with.

use crate::{proc, proc::Stat, process_clock};
use std::collections::{BTreeMap, HashMap, HashSet};

/// CPU time and page faults since the processes began.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Used {
    /// CPU time, user and system, from the process CPU clock where there is one.
    pub nanos: u64,
    /// User, as the kernel splits it, in ticks.
    pub user_ticks: u64,
    /// System, as the kernel splits it, in ticks.
    pub system_ticks: u64,
    /// Pages mapped without reading a disk.
    pub minor_faults: u64,
    /// Pages that had to be read from a disk.
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
    fn plus(self, other: Self) -> Self {
        self.zip(other, u64::saturating_add)
    }
    fn at_least(self, other: Self) -> Self {
        self.zip(other, u64::max)
    }
    /// The difference, part by part; a part that would be negative is zero.
    pub(crate) fn minus(self, other: Self) -> Self {
        self.zip(other, u64::saturating_sub)
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

/// One process of the tree, as last seen.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Member {
    pub stat: Stat,
    own: Used,
    reaped: Used,
}

impl Member {
    fn of(stat: Stat) -> Self {
        Self { own: Used::own(&stat), reaped: Used::reaped(&stat), stat }
    }
    fn all(&self) -> Used {
        self.own.plus(self.reaped)
    }
}

/// See the head of this file.
#[derive(Debug)]
pub(crate) struct ProcessTree {
    members: BTreeMap<u32, Member>,
    /// Time of dead members that no living one inherited.
    kept: Used,
    /// Time that members found late had used before the book was opened.
    earlier: Used,
    /// The largest sum so far: readings that race with a death must not take anything back.
    total: Used,
    opened: u64,
    last_pid: Option<u32>,
}

impl ProcessTree {
    /// Opens the book on these processes and all that descend from them. The calling process and its own descendants
    /// are left out unless it is named itself: a meter that was started by its target is no part of it.
    pub(crate) fn open(roots: &[u32]) -> Self {
        let members = roots.iter().filter_map(|pid| Some((*pid, Member::of(Stat::of(*pid)?)))).collect();
        let mut ledger = Self {
            members,
            kept: Used::default(),
            earlier: Used::default(),
            total: Used::default(),
            opened: proc::boot_ticks(),
            last_pid: None,
        };
        ledger.refresh();
        ledger.earlier = Used::default();
        ledger
    }

    /// The living members, as seen at the last refresh.
    pub(crate) fn members(&self) -> impl Iterator<Item = &Member> {
        self.members.values()
    }

    /// Whether any process of the tree still runs.
    pub(crate) fn is_alive(&self) -> bool {
        self.members.values().any(|m| !m.stat.ended)
    }

    /// Looks at every member again, takes in new ones, and returns what the whole tree has used.
    pub(crate) fn refresh(&mut self) -> Used {
        let before = std::mem::take(&mut self.members);
        let mut gone = Vec::new();
        for (pid, old) in &before {
            match Stat::of(*pid).filter(|stat| stat.started == old.stat.started) {
                Some(stat) => _ = self.members.insert(*pid, Member::of(stat)),
                None => gone.push(*old),
            }
        }
        self.account_exited(&before, &gone);
        self.find_new();
        let sum = self.members.values().fold(self.kept, |sum, m| sum.plus(m.all()));
        self.total = sum.minus(self.earlier).at_least(self.total);
        self.total
    }

    /// Keeps what the dead had used as far as their nearest living ancestor did not inherit it.
    fn account_exited(&mut self, before: &BTreeMap<u32, Member>, gone: &[Member]) {
        let mut by_heir: HashMap<Option<u32>, Used> = HashMap::new();
        for dead in gone {
            let mut heir = dead.stat.parent;
            // A parent that died in the same interval had inherited first, and passed it on.
            while !self.members.contains_key(&heir) {
                match before.get(&heir) {
                    Some(dead_parent) if dead_parent.stat.parent != heir => heir = dead_parent.stat.parent,
                    _ => break,
                }
            }
            let heir = self.members.contains_key(&heir).then_some(heir);
            let sum = by_heir.entry(heir).or_default();
            *sum = sum.plus(dead.all());
        }
        for (heir, lost) in by_heir {
            let inherited = heir.map_or(Used::default(), |pid| self.members[&pid].reaped.minus(before[&pid].reaped));
            self.kept = self.kept.plus(lost.minus(inherited));
        }
    }

    /// Takes in processes forked by members since the last look.
    fn find_new(&mut self) {
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
        let mut seen: HashSet<u32> = self.members.keys().copied().collect();
        let mut look: Vec<u32> = seen.iter().copied().collect();
        while let Some(pid) = look.pop() {
            for stat in children.remove(&pid).unwrap_or_default() {
                if stat.pid == own || !seen.insert(stat.pid) {
                    continue;
                }
                look.push(stat.pid);
                let member = Member::of(stat);
                if stat.started < self.opened {
                    self.earlier = self.earlier.plus(member.all());
                }
                self.members.insert(stat.pid, member);
            }
        }
    }
}
