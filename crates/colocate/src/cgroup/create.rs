//! Creates the directories of a group.

use super::Group;
use super::job::inherit_cpuset;
use crate::journal::{Change, Journal};
use brunt_meter::cgroup::{Files, Hierarchy, Version, new_name};
use std::path::{Path, PathBuf};
use std::{io, sync::Arc};

/// Controllers, by their names in version 1, where each needs a directory in the hierarchy that has it.
const CONTROLLERS: [&str; 6] = ["cpu", "cpuset", "cpuacct", "memory", "pids", "blkio"];
const NETWORK: &str = "net_prio";
/// Their names in version 2, where one directory has those that its parent enables.
const ENABLED: [&str; 5] = ["cpu", "cpuset", "memory", "pids", "io"];

pub(super) fn create(
    files: Arc<dyn Files>,
    hierarchies: &[Hierarchy],
    network: bool,
    journal: &mut Journal,
) -> io::Result<Group> {
    let mut maker = Maker { files: &*files, journal, name: new_name(), dirs: Vec::new(), missing: Vec::new() };
    let made = maker.all(hierarchies, network);
    let Maker { dirs, missing, .. } = maker;
    let group = Group { files, dirs, missing, caps: Arc::default() };
    if let Err(why) = made {
        group.remove()?;
        return Err(why);
    }
    Ok(group)
}

struct Maker<'a> {
    files: &'a dyn Files,
    journal: &'a mut Journal,
    name: String,
    dirs: Vec<PathBuf>,
    missing: Vec<(&'static str, String)>,
}

impl Maker<'_> {
    fn all(&mut self, hierarchies: &[Hierarchy], network: bool) -> io::Result<()> {
        let mut why = Vec::new();
        let two = hierarchies.iter().find(|hierarchy| hierarchy.version == Version::Two);
        let two =
            two.and_then(|hierarchy| self.version_two(hierarchy).map_err(|error| why.push(error.to_string())).ok());
        let freezes = two.as_ref().is_some_and(|dir| self.files.exists(&dir.join("cgroup.freeze")));
        let ones: Vec<&Hierarchy> = hierarchies.iter().filter(|hierarchy| hierarchy.version == Version::One).collect();
        for controller in CONTROLLERS.into_iter().chain(network.then_some(NETWORK)) {
            self.version_one(&ones, controller);
        }
        self.dirs.extend(two);
        if freezes {
            return Ok(());
        }
        self.version_one(&ones, "freezer");
        if self.dirs.last().is_some_and(|dir| self.files.exists(&dir.join("freezer.state"))) {
            return Ok(());
        }
        why.extend(self.missing.iter().filter(|(name, _)| *name == "freezer").map(|(_, error)| error.clone()));
        let why = if why.is_empty() { "no hierarchy with a freezer is mounted".to_owned() } else { why.join("; ") };
        Err(io::Error::other(format!("no control group that can be frozen can be made here (root can): {why}")))
    }

    /// The parent that enables the most controllers, the closest to our own group among equals.
    fn version_two(&mut self, hierarchy: &Hierarchy) -> io::Result<PathBuf> {
        let enabled = |parent: &Path| {
            let names = self.files.read(&parent.join("cgroup.subtree_control")).unwrap_or_default();
            names.split_whitespace().filter(|name| ENABLED.contains(name)).count()
        };
        let mut parents: Vec<(usize, &Path)> = hierarchy.upwards().map(|parent| (enabled(parent), parent)).collect();
        parents.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
        self.first(parents.into_iter().map(|(_, parent)| parent))
    }

    /// In the first hierarchy of the controller, unless it has a directory for another one already.
    fn version_one(&mut self, hierarchies: &[&Hierarchy], controller: &'static str) {
        let Some(hierarchy) = hierarchies.iter().find(|hierarchy| hierarchy.may_have(controller)) else { return };
        if self.dirs.iter().any(|dir| dir.starts_with(&hierarchy.root)) {
            return;
        }
        let made = self.first(hierarchy.upwards()).and_then(|dir| {
            self.dirs.push(dir.clone());
            inherit_cpuset(self.files, &dir)
        });
        if let Err(error) = made {
            self.missing.push((controller, error.to_string()));
        }
    }

    /// Creates the directory in the first of the parents where that is possible and processes can enter it.
    fn first<'p>(&mut self, parents: impl Iterator<Item = &'p Path>) -> io::Result<PathBuf> {
        let mut last = io::Error::other("no parent");
        for parent in parents {
            let dir = parent.join(&self.name);
            self.journal.record(Change::Group(dir.clone()))?;
            match self.files.create_dir(&dir) {
                Ok(()) if self.kind(&dir).trim() == "domain invalid" => {
                    last = io::Error::other(format!("{}: its parent is threaded", dir.display()));
                    self.files.remove_dir(&dir)?;
                }
                Ok(()) => return Ok(dir),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    fn kind(&self, dir: &Path) -> String {
        self.files.read(&dir.join("cgroup.type")).unwrap_or_default()
    }
}
