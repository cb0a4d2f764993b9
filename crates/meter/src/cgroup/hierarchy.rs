//! The mounted hierarchies of control groups, and our group in each.

use std::fs;
use std::path::{Path, PathBuf};

/// Version of the kernel's interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    One,
    Two,
}

/// A mounted hierarchy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hierarchy {
    /// Its top directory.
    pub root: PathBuf,
    /// The directory of the own group of a process, or the top one where our group lies outside of the mount, as in some containers.
    pub own: PathBuf,
    pub version: Version,
    /// Options of the mount, the names of controllers among them. In version 2 the files of a directory tell.
    options: Vec<String>,
}

impl Hierarchy {
    /// Whether groups here may have this controller.
    pub fn may_have(&self, controller: &str) -> bool {
        self.version == Version::Two || self.options.iter().any(|option| option == controller)
    }

    /// Our own group and its ancestors up to the top.
    pub fn upwards(&self) -> impl Iterator<Item = &Path> {
        self.own.ancestors().take_while(|group| group.starts_with(&self.root))
    }
}

/// The hierarchies of this machine.
pub fn hierarchies() -> Vec<Hierarchy> {
    of("/proc/self/cgroup")
}

/// The groups of this process and those above them that may have the controller.
pub fn limiting(pid: u32, controller: &str) -> Vec<(PathBuf, Version)> {
    let hierarchies = of(&format!("/proc/{pid}/cgroup"));
    let with_it = hierarchies.iter().filter(|hierarchy| hierarchy.may_have(controller));
    with_it.flat_map(|hierarchy| hierarchy.upwards().map(|group| (group.to_owned(), hierarchy.version))).collect()
}

fn of(groups: &str) -> Vec<Hierarchy> {
    let read = |file: &str| fs::read_to_string(file).unwrap_or_default();
    parse(&read("/proc/self/mountinfo"), &read(groups))
}

/// The hierarchies in the texts of `/proc/PID/mountinfo` and `/proc/PID/cgroup`.
pub fn parse(mounts: &str, groups: &str) -> Vec<Hierarchy> {
    let hierarchy = |line: &str| {
        // 36 35 0:30 /root/of/mount /mount/point options - type source options: proc_pid_mountinfo(5)
        let (front, back) = line.split_once(" - ")?;
        let (mut front, mut back) = (front.split(' ').skip(3), back.split(' '));
        let (top, root) = (front.next()?, PathBuf::from(front.next()?));
        let (kind, options) = (back.next()?, back.nth(1)?.split(',').map(str::to_owned).collect::<Vec<_>>());
        let version = match kind {
            "cgroup" => Version::One,
            "cgroup2" => Version::Two,
            _ => return None,
        };
        let own = groups.lines().find_map(|line| {
            // 4:memory:/path, 2:cpu,cpuacct:/path, 1:name=systemd:/path, 0::/path: cgroups(7)
            let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
            let named = || controllers.split(',').any(|name| options.iter().any(|option| option == name));
            (if version == Version::One { named() } else { controllers.is_empty() }).then_some(path)
        })?;
        let inside = Path::new(own).strip_prefix(top).ok().map(|own| root.join(own));
        let own = inside.filter(|own| own.is_dir()).unwrap_or_else(|| root.clone());
        Some(Hierarchy { root, own, version, options })
    };
    mounts.lines().filter_map(hierarchy).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hierarchies_are_found_with_our_group() {
        let home = tempfile::tempdir().unwrap();
        let point = home.path().display();
        fs::create_dir_all(home.path().join("one/job")).unwrap();
        let mounts = format!(
            "30 20 0:26 / {point}/cpu rw shared:9 - cgroup cgroup rw,cpu,cpuacct\n\
             31 20 0:27 / {point}/one rw shared:10 - cgroup cgroup rw,memory\n\
             32 20 0:28 /docker/x {point} rw - cgroup2 cgroup2 rw\n\
             33 20 0:29 / / rw - ext4 /dev/sda rw\n"
        );
        let found = parse(&mounts, "4:memory:/job\n2:cpu,cpuacct:/\n0::/not/under/the/mount\n");
        let path = |name: &str| home.path().join(name);
        let shown: Vec<_> = found.iter().map(|one| (one.root.clone(), one.own.clone(), one.version)).collect();
        let expected = [
            (path("cpu"), path("cpu"), Version::One),
            (path("one"), path("one/job"), Version::One),
            (home.path().into(), home.path().into(), Version::Two),
        ];
        assert_eq!(shown, expected);
        assert_eq!(found[1].upwards().collect::<Vec<_>>(), [path("one/job"), path("one")]);
        assert!(found[0].may_have("cpuacct") && !found[0].may_have("memory") && found[2].may_have("memory"));
        assert_eq!(parse("", "0::/"), []);
        assert_eq!(parse("nonsense - \n", "nonsense"), []);
    }
}
