//! Memory limits of the control groups of a server, and what the kernel did in a window because one of them was reached.
//!
//! Of the groups of one process, of versions 1 and 2, and of all groups above them. A group's events are those of all its processes.

use crate::cgroup::{self, Version};
use brunt_results::result::MemoryLimit;
use std::fs;
use std::path::{Path, PathBuf};

/// Version 1 writes no limit as the largest number of pages.
const NO_LIMIT: u64 = 1 << 60;

#[derive(Debug, Clone)]
struct Group {
    path: PathBuf,
    version: Version,
    /// Above it, allocations wait for memory to be reclaimed; version 2 alone.
    high: Option<u64>,
    max: Option<u64>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Events {
    high: u64,
    max: u64,
    killed: u64,
}

impl Events {
    /// A group that was removed and made again counts from 0.
    fn since(self, first: Self) -> Self {
        let Self { high, max, killed } = self;
        if high < first.high || max < first.max || killed < first.killed {
            return self;
        }
        Self { high: high - first.high, max: max - first.max, killed: killed - first.killed }
    }
}

#[derive(Debug, Default)]
pub(crate) struct MemoryLimits {
    groups: Vec<(Group, Events)>,
}

impl MemoryLimits {
    /// Those of this process, counted from now on.
    pub(crate) fn of(pid: u32) -> Self {
        let groups = cgroup::limiting(pid, "memory").into_iter().filter_map(|(path, version)| {
            let group = Group::of(&path, version)?;
            let events = group.events();
            Some((group, events))
        });
        Self { groups: groups.collect() }
    }

    /// Those of this process too, which has taken over from the first.
    pub(crate) fn join(&mut self, pid: u32) {
        let is_known = |one: &Group| self.groups.iter().any(|(known, _)| known.path == one.path);
        let fresh: Vec<_> = Self::of(pid).groups.into_iter().filter(|(one, _)| !is_known(one)).collect();
        self.groups.extend(fresh);
    }

    /// The same since the groups were made.
    pub(crate) fn so_far(pid: u32) -> Option<MemoryLimit> {
        let groups = Self::of(pid).groups.into_iter().map(|(group, _)| (group, Events::default()));
        Self { groups: groups.collect() }.since()
    }

    /// The lowest limit.
    pub(crate) fn bytes(&self) -> Option<u64> {
        self.groups.iter().flat_map(|(group, _)| group.high.into_iter().chain(group.max)).min()
    }

    /// The group in which most happened since then, of as many the one with the lowest limit; `None` if none has a limit.
    pub(crate) fn since(&self) -> Option<MemoryLimit> {
        let of = |(group, first): &(Group, Events)| {
            let Events { high, max, killed } = group.events().since(*first);
            MemoryLimit {
                group: group.path.display().to_string(),
                high_bytes: group.high,
                max_bytes: group.max,
                used_bytes: group.used(),
                high_events: high,
                max_events: max,
                killed,
            }
        };
        let least = |limit: &MemoryLimit| limit.high_bytes.into_iter().chain(limit.max_bytes).min();
        let events = |limit: &MemoryLimit| (limit.killed, limit.high_events, limit.max_events);
        self.groups
            .iter()
            .map(of)
            .max_by(|one, other| events(one).cmp(&events(other)).then_with(|| least(other).cmp(&least(one))))
    }
}

impl Group {
    /// `None` without a limit.
    fn of(path: &Path, version: Version) -> Option<Self> {
        let (high, max) = match version {
            Version::One => (None, "memory.limit_in_bytes"),
            Version::Two => (Some("memory.high"), "memory.max"),
        };
        let limit = |file: &str| number(&path.join(file)).filter(|bytes| *bytes < NO_LIMIT);
        let group = Self { path: path.to_owned(), version, high: high.and_then(limit), max: limit(max) };
        (group.high.is_some() || group.max.is_some()).then_some(group)
    }

    fn used(&self) -> Option<u64> {
        number(&self.path.join(match self.version {
            Version::One => "memory.usage_in_bytes",
            Version::Two => "memory.current",
        }))
    }

    fn events(&self) -> Events {
        let text = |file: &str| fs::read_to_string(self.path.join(file)).unwrap_or_default();
        let entry = |text: &str, key: &str| cgroup::entry(text, key).unwrap_or_default();
        match self.version {
            Version::One => Events {
                high: 0,
                max: number(&self.path.join("memory.failcnt")).unwrap_or_default(),
                killed: entry(&text("memory.oom_control"), "oom_kill"),
            },
            Version::Two => {
                let events = text("memory.events");
                let [high, max, killed] = ["high", "max", "oom_kill"].map(|key| entry(&events, key));
                Events { high, max, killed }
            }
        }
    }
}

/// Of a file with one number; `max` is none.
fn number(file: &Path) -> Option<u64> {
    fs::read_to_string(file).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(path: &Path, files: &[(&str, &str)]) {
        fs::create_dir_all(path).unwrap();
        files.iter().for_each(|(file, text)| fs::write(path.join(file), text).unwrap());
    }

    #[test]
    fn limits_and_events_of_both_versions_are_read() {
        let home = tempfile::tempdir().unwrap();
        let at = |name: &str| home.path().join(name);
        write(
            &at("two"),
            &[
                ("memory.high", "1000\n"),
                ("memory.max", "max\n"),
                ("memory.current", "900\n"),
                ("memory.events", "low 0\nhigh 5\nmax 0\noom 0\noom_kill 1\n"),
            ],
        );
        let v1 = |limit: &str, failed: &str| {
            [
                ("memory.limit_in_bytes", limit.to_owned()),
                ("memory.failcnt", failed.to_owned()),
                ("memory.usage_in_bytes", "7\n".to_owned()),
                ("memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n".to_owned()),
            ]
        };
        for (name, limit) in [("one", "500\n"), ("none", "9223372036854771712\n")] {
            let files = v1(limit, "3\n");
            write(&at(name), &files.each_ref().map(|(file, text)| (*file, text.as_str())));
        }
        assert!(Group::of(&at("none"), Version::One).is_none() && Group::of(&at("missing"), Version::Two).is_none());
        let (one, two) = (Group::of(&at("one"), Version::One).unwrap(), Group::of(&at("two"), Version::Two).unwrap());
        assert_eq!([one.max, one.high, two.max, two.high], [Some(500), None, None, Some(1000)]);
        assert_eq!(one.events(), Events { high: 0, max: 3, killed: 2 });
        assert_eq!(two.events(), Events { high: 5, max: 0, killed: 1 });
        // Nothing happened since: that of the lowest limit.
        let limits = MemoryLimits { groups: vec![(two.clone(), two.events()), (one.clone(), one.events())] };
        assert_eq!((limits.bytes(), MemoryLimits::default().bytes()), (Some(500), None));
        let quiet = limits.since().unwrap();
        assert_eq!((quiet.max_bytes, quiet.used_bytes, quiet.max_events, quiet.killed), (Some(500), Some(7), 0, 0));
        fs::write(at("two").join("memory.events"), "high 25\nmax 0\noom_kill 1\n").unwrap();
        let busy = limits.since().unwrap();
        assert_eq!((busy.high_bytes, busy.high_events, busy.killed), (Some(1000), 20, 0));
        fs::write(at("two").join("memory.events"), "high 4\nmax 0\noom_kill 0\n").unwrap();
        assert_eq!(limits.since().unwrap().high_events, 4, "the group was made again");
        assert!(MemoryLimits::default().since().is_none());
    }
}
