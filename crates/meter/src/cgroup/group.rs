//! A control group that the user has named, with its processes.

use super::files::Linux;
use super::hierarchy::{Hierarchy, hierarchies};
use super::processes::{members, tree};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Endings of the groups that systemd makes.
const KINDS: [&str; 3] = [".service", ".scope", ".slice"];

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    name: String,
    /// One in each hierarchy that has it.
    dirs: Vec<PathBuf>,
}

impl Group {
    /// By its path, in the file system or from the top of a hierarchy.
    pub fn at(path: &str) -> Result<Self, String> {
        Self::at_of(&hierarchies(), path)
    }

    fn at_of(hierarchies: &[Hierarchy], path: &str) -> Result<Self, String> {
        let inside = path.trim_matches('/');
        let is_group = |dir: &Path| dir.join("cgroup.procs").is_file();
        let whole = Path::new(path);
        let dirs: Vec<PathBuf> = match whole.is_absolute() && is_group(whole) {
            true => vec![whole.to_owned()],
            false => {
                hierarchies.iter().map(|hierarchy| hierarchy.root.join(inside)).filter(|dir| is_group(dir)).collect()
            }
        };
        if inside.is_empty() || dirs.is_empty() {
            return Err(format!(
                "there is no control group {path}: give its path below a hierarchy, as /proc/PID/cgroup has it"
            ));
        }
        let name = inside.rsplit('/').next().unwrap_or(inside).to_owned();
        Ok(Self { name, dirs })
    }

    /// The group of a unit of systemd; `.service` may be left out.
    pub fn of_unit(name: &str) -> Result<Self, String> {
        Self::of_unit_in(&hierarchies(), name)
    }

    fn of_unit_in(hierarchies: &[Hierarchy], name: &str) -> Result<Self, String> {
        let unit =
            if KINDS.iter().any(|kind| name.ends_with(kind)) { name.to_owned() } else { format!("{name}.service") };
        let of = |hierarchy: &Hierarchy| {
            let root = hierarchy.root.clone();
            let all = tree(&Linux, &root).into_iter().filter(|dir| dir.file_name().is_some_and(|name| *name == *unit));
            all.filter_map(|dir| Some(dir.strip_prefix(&root).ok()?.to_owned())).collect::<Vec<_>>()
        };
        let found: BTreeSet<PathBuf> = hierarchies.iter().flat_map(of).collect();
        match found.iter().collect::<Vec<_>>()[..] {
            [] => Err(format!("no control group is that of a unit {unit}: systemctl status shows whether it runs")),
            [path] => Self::at_of(hierarchies, &path.to_string_lossy()),
            [first, second, ..] => Err(format!(
                "{unit} is the name of several control groups, {} and {} among them: give the path of one",
                first.display(),
                second.display()
            )),
        }
    }

    /// Its last part.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The living processes in it and in the groups below, without the calling one.
    pub fn pids(&self) -> Vec<u32> {
        let own = std::process::id();
        members(&Linux, &self.dirs).into_iter().filter(|pid| *pid != own).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cgroup::Version;
    use std::fs;

    #[test]
    fn groups_are_found_by_path_and_by_unit() {
        let home = tempfile::tempdir().unwrap();
        let group = |path: &str, pids: &str| {
            let dir = home.path().join(path);
            fs::create_dir_all(&dir).unwrap();
            fs::write(dir.join("cgroup.procs"), pids).unwrap();
        };
        for (path, pids) in [
            ("one/system.slice/web.service", "7\n"),
            ("two/system.slice/web.service", "7\n8\n"),
            ("two/system.slice/web.service/inner", "9\n"),
            ("two/docker/abc", "20\n"),
            ("two/a/twice.service", ""),
            ("two/b/twice.service", ""),
        ] {
            group(path, pids);
        }
        let mounts = ["one", "two"]
            .map(|name| format!("30 20 0:26 / {}/{name} rw - cgroup2 cgroup2 rw\n", home.path().display()));
        let found = crate::cgroup::parse(&mounts.concat(), "0::/\n");
        assert!(found.len() == 2 && found.iter().all(|one| one.version == Version::Two));
        let pids = |group: Result<Group, String>| group.map(|group| (group.name().to_owned(), group.pids()));
        for name in ["web", "web.service"] {
            assert_eq!(pids(Group::of_unit_in(&found, name)), Ok(("web.service".to_owned(), vec![7, 8, 9])));
        }
        for path in ["docker/abc", "/docker/abc", &home.path().join("two/docker/abc").to_string_lossy()] {
            assert_eq!(pids(Group::at_of(&found, path)), Ok(("abc".to_owned(), vec![20])));
        }
        assert!(
            Group::of_unit_in(&found, "twice").unwrap_err().contains("several control groups, a/twice.service and")
        );
        assert!(Group::of_unit_in(&found, "none").unwrap_err().contains("none.service"));
        for path in ["docker/none", "/", ""] {
            assert!(Group::at_of(&found, path).unwrap_err().contains(&format!("no control group {path}:")), "{path}");
        }
    }
}
