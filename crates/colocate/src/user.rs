//! A user of this machine, as in /etc/passwd and /etc/group. Users of a directory service that are not in these files are not found.

use rustix::process::{Gid, Uid};
use rustix::thread::{set_thread_gid, set_thread_groups, set_thread_uid};
use std::path::PathBuf;
use std::{fs, io};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    pub name: String,
    uid: u32,
    gid: u32,
    /// Other groups that it is in.
    groups: Vec<u32>,
    pub home: PathBuf,
}

impl User {
    /// # Errors
    /// There is no such user.
    pub fn named(name: &str) -> Result<Self, String> {
        let read = |path: &str| fs::read_to_string(path).map_err(|error| format!("{path}: {error}"));
        Self::of(name, &read("/etc/passwd")?, &read("/etc/group")?)
    }

    fn of(name: &str, passwd: &str, group: &str) -> Result<Self, String> {
        let fields = |line: &'_ str| line.split(':').map(str::to_owned).collect::<Vec<String>>();
        let line = passwd.lines().map(fields).find(|fields| fields[0] == name);
        let unknown = || format!("there is no user '{name}' in /etc/passwd");
        let line = line.filter(|_| !name.is_empty()).ok_or_else(unknown)?;
        let number = |index: usize| line.get(index).and_then(|text| text.parse().ok()).ok_or_else(unknown);
        let is_in = |fields: &Vec<String>| fields.get(3).is_some_and(|names| names.split(',').any(|one| one == name));
        let groups = group.lines().map(fields).filter(is_in).filter_map(|fields| fields[2].parse().ok()).collect();
        let home = line.get(5).map_or_else(|| PathBuf::from("/"), PathBuf::from);
        Ok(Self { name: name.to_owned(), uid: number(2)?, gid: number(3)?, groups, home })
    }

    /// Whether this process may become it.
    ///
    /// # Errors
    /// It may not.
    pub fn may_be_taken(&self) -> Result<(), String> {
        let own = rustix::process::geteuid();
        match own.is_root() || own.as_raw() == self.uid {
            true => Ok(()),
            false => Err(format!("only root can start a job as {}", self.name)),
        }
    }

    /// The thread becomes this user, for good; what it starts does too.
    pub(crate) fn take(&self) -> io::Result<()> {
        if rustix::process::geteuid().is_root() {
            let groups: Vec<Gid> = self.groups.iter().map(|group| Gid::from_raw(*group)).collect();
            set_thread_groups(&groups)?;
            set_thread_gid(Gid::from_raw(self.gid))?;
            set_thread_uid(Uid::from_raw(self.uid))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_found_with_their_groups() {
        let passwd = "root:x:0:0:root:/root:/bin/sh\nbatch:x:1001:1002::/srv/batch:/bin/false\n";
        let group = "root:x:0:\ndisk:x:6:batch,other\nbatch:x:1002:\nbatches:x:7:abatch\n";
        let user = User::of("batch", passwd, group).unwrap();
        assert_eq!((user.uid, user.gid, user.groups, user.home), (1001, 1002, vec![6], "/srv/batch".into()));
        let error = User::of("bat", passwd, group).unwrap_err();
        assert_eq!(error, "there is no user 'bat' in /etc/passwd");
        assert!(User::of("batch", "batch:x:one:2", group).is_err());
        assert_eq!(User::named("root").unwrap().uid, 0);
    }
}
