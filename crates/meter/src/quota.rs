//! CPU quotas of the control groups of a server, and the periods in which it was stopped because one of them was used up.
//!
//! Of the groups of one process, of versions 1 and 2, and of all groups above them, as a container's. `cpu.stat` counts for all
//! processes of a group, of which the server may be one.

use crate::cgroup::{self, Version};
use brunt_results::result::Throttled;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A group with a quota.
#[derive(Debug, Clone)]
struct Group {
    path: PathBuf,
    cores: f64,
}

#[derive(Debug, Clone, Copy, Default)]
struct Counted {
    periods: u64,
    throttled: u64,
    time: Duration,
}

#[derive(Debug)]
struct Watched {
    group: Group,
    first: Counted,
    /// Of the last interval.
    last: Counted,
}

#[derive(Debug, Default)]
pub(crate) struct Quotas(Vec<Watched>);

impl Counted {
    /// A group that was removed and made again, as at the restart of a unit, counts from 0.
    fn since(self, first: Self) -> Self {
        if self.periods < first.periods {
            return self;
        }
        Self {
            periods: self.periods - first.periods,
            throttled: self.throttled.saturating_sub(first.throttled),
            time: self.time.saturating_sub(first.time),
        }
    }
}

impl Quotas {
    /// Those of this process, counted from now on.
    pub(crate) fn of(pid: u32) -> Self {
        let with_quota = cgroup::limiting(pid, "cpu").into_iter().filter_map(|(path, version)| {
            let cores = quota(&path, version)?;
            let first = counted(&path);
            Some(Watched { group: Group { path, cores }, first, last: first })
        });
        Self(with_quota.collect())
    }

    /// Those of this process too, which has taken over from the first.
    pub(crate) fn join(&mut self, pid: u32) {
        let is_known = |one: &Watched| self.0.iter().any(|known| known.group.path == one.group.path);
        let fresh: Vec<Watched> = Self::of(pid).0.into_iter().filter(|one| !is_known(one)).collect();
        self.0.extend(fresh);
    }

    /// The same since the groups were made.
    pub(crate) fn so_far(pid: u32) -> Option<Throttled> {
        let groups = Self::of(pid).0.into_iter();
        Self(groups.map(|watched| Watched { first: Counted::default(), ..watched }).collect()).since()
    }

    /// The group that was stopped in most periods since then; `None` if none has a quota.
    pub(crate) fn since(&self) -> Option<Throttled> {
        let of = |Watched { group, first, .. }: &Watched| {
            let Counted { periods, throttled, time } = counted(&group.path).since(*first);
            Throttled {
                group: group.path.display().to_string(),
                quota_cores: group.cores,
                periods,
                throttled_periods: throttled,
                throttled_s: time.as_secs_f64(),
            }
        };
        self.0.iter().map(of).max_by_key(|throttled| throttled.throttled_periods)
    }

    /// The lowest quota.
    pub(crate) fn cores(&self) -> Option<f64> {
        self.0.iter().map(|watched| watched.group.cores).reduce(f64::min)
    }

    /// Periods in which the server was stopped since the call before, or since the first count, in percent, of the group where they are
    /// most; `None` if no period has passed.
    pub(crate) fn percent_of_interval(&mut self) -> Option<f64> {
        let of = |watched: &mut Watched| {
            let now = counted(&watched.group.path);
            let Counted { periods, throttled, .. } = now.since(std::mem::replace(&mut watched.last, now));
            (periods > 0).then(|| throttled as f64 / periods as f64 * 100.0)
        };
        self.0.iter_mut().filter_map(of).reduce(f64::max)
    }
}

/// The quota of a group in cores, if it has one.
fn quota(group: &Path, version: Version) -> Option<f64> {
    let number = |text: &str| text.trim().parse::<f64>().ok().filter(|number| *number > 0.0);
    let read = |file: &str| fs::read_to_string(group.join(file)).ok();
    let (quota, period) = match version {
        Version::One => (read("cpu.cfs_quota_us")?, read("cpu.cfs_period_us")?),
        Version::Two => {
            read("cpu.max")?.split_once(' ').map(|(quota, period)| (quota.to_owned(), period.to_owned()))?
        }
    };
    Some(number(&quota)? / number(&period)?)
}

fn counted(group: &Path) -> Counted {
    let text = fs::read_to_string(group.join("cpu.stat")).unwrap_or_default();
    let entry = |key: &str| cgroup::entry(&text, key);
    let time = entry("throttled_usec").map(Duration::from_micros);
    let time = time.or_else(|| entry("throttled_time").map(Duration::from_nanos)).unwrap_or_default();
    let [periods, throttled] = ["nr_periods", "nr_throttled"].map(|key| entry(key).unwrap_or_default());
    Counted { periods, throttled, time }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotas_and_counts_of_both_versions_are_read() {
        let home = tempfile::tempdir().unwrap();
        let group = |name: &str, files: &[(&str, &str)]| {
            let path = home.path().join(name);
            fs::create_dir(&path).unwrap();
            files.iter().for_each(|(file, text)| fs::write(path.join(file), text).unwrap());
            path
        };
        let one = [("cpu.cfs_quota_us", "50000\n"), ("cpu.cfs_period_us", "100000\n")];
        assert_eq!(quota(&group("one", &one), Version::One), Some(0.5));
        let none = [("cpu.cfs_quota_us", "-1\n"), ("cpu.cfs_period_us", "100000\n")];
        assert_eq!(quota(&group("none", &none), Version::One), None);
        assert_eq!(quota(&group("two", &[("cpu.max", "150000 100000\n")]), Version::Two), Some(1.5));
        assert_eq!(quota(&group("max", &[("cpu.max", "max 100000\n")]), Version::Two), None);
        assert_eq!(quota(&group("top", &[]), Version::Two), None);
        let path =
            group("stat", &[("cpu.stat", "usage_usec 9\nnr_periods 40\nnr_throttled 35\nthrottled_usec 7000\n")]);
        let known = Group { path, cores: 0.5 };
        let first = Counted { periods: 10, throttled: 5, time: Duration::from_millis(2) };
        let idle = Group {
            path: group("idle", &[("cpu.stat", "nr_periods 4\nnr_throttled 0\nthrottled_time 0\n")]),
            cores: 2.0,
        };
        let watched = |group, first| Watched { group, first, last: first };
        let mut quotas = Quotas(vec![watched(idle, Counted::default()), watched(known, first)]);
        assert_eq!((quotas.cores(), Quotas::default().cores()), (Some(0.5), None));
        assert_eq!([(); 2].map(|()| quotas.percent_of_interval()), [Some(100.0), None]);
        let since = quotas.since().unwrap();
        assert_eq!(
            (since.quota_cores, since.periods, since.throttled_periods, since.throttled_s),
            (0.5, 30, 30, 0.005)
        );
        // The group was made again.
        let more = Counted { periods: 50, ..Counted::default() };
        quotas.0[1].first = more;
        assert_eq!(quotas.since().unwrap().periods, 40);
        assert!(since.group.ends_with("/stat") && Quotas::default().since().is_none());
    }
}
