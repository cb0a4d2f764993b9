//! Names of groups: they tell the process that made them.

use crate::proc_stat::{pid_namespace, start_time};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::{fs, io, process};

/// A name that no other group has: pid namespace, process id, start time of the process, number.
pub fn new_name() -> String {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let (pid, number) = (process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
    format!("brunt-{}-{pid}-{}-{number}", pid_namespace(), start_time(pid).unwrap_or(0))
}

/// Creates a group with a new name.
pub fn make(parent: &Path) -> io::Result<PathBuf> {
    let group = parent.join(new_name());
    fs::create_dir(&group).map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", group.display())))?;
    Ok(group)
}

/// Whether this is the name of a group made here or by another process of ours.
pub fn is_name(name: &str) -> bool {
    numbers(name).is_some()
}

/// Whether the creator, of this namespace, is gone.
pub(super) fn is_orphan(group: &Path) -> bool {
    let creator = || {
        let [space, pid, started, _] = numbers(group.file_name()?.to_str()?)?;
        (space == pid_namespace()).then_some((u32::try_from(pid).ok()?, started))
    };
    creator().is_some_and(|(pid, started)| start_time(pid) != Some(started))
}

fn numbers(name: &str) -> Option<[u64; 4]> {
    let words = name.strip_prefix("brunt-")?.split('-').map(|word| word.parse().ok());
    words.collect::<Option<Vec<u64>>>()?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_of_dead_creators_are_orphans() {
        let (own, pid) = (pid_namespace(), process::id());
        let started = start_time(pid).unwrap();
        for (name, orphan) in [
            (new_name(), false),
            (format!("brunt-{own}-{pid}-{started}-0"), false),
            (format!("brunt-{own}-{pid}-{}-0", started + 1), true),
            (format!("brunt-{own}-{}-{started}-0", u32::MAX), true),
            (format!("brunt-{}-{}-{started}-0", own + 1, u32::MAX), false),
            (format!("brunt-{own}-{}", u32::MAX), false),
            ("brunt-build".to_owned(), false),
            ("user.slice".to_owned(), false),
        ] {
            assert_eq!(is_orphan(&Path::new("/sys/fs/cgroup").join(&name)), orphan, "{name}");
        }
        assert!(is_name(&new_name()) && !is_name("brunt-1-2") && !is_name("system.slice"));
    }
}
