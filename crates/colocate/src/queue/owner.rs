//! The process that runs an attempt, told from others that have its process id later.

use brunt_meter::proc_stat::{boot_id, has_ended, pid_namespace, start_time};
use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ToSql, ToSqlOutput, ValueRef};
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};

/// A runner. In the file `BOOT NAMESPACE PID STARTED NUMBER`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    /// Boot id of the kernel.
    pub(super) boot: String,
    /// Inode of the pid namespace: process ids of another one mean nothing here.
    pub(super) namespace: u64,
    pub(super) pid: u32,
    /// In clock ticks since boot.
    pub(super) started: u64,
    /// Of several runners in a process.
    pub(super) number: u32,
}

impl Owner {
    /// A new one in this process.
    pub fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        Self::in_process(process::id(), NUMBER.fetch_add(1, Ordering::Relaxed))
    }

    fn in_process(pid: u32, number: u32) -> Self {
        let (boot, namespace) = (boot_id(), pid_namespace());
        Self { boot, namespace, pid, started: start_time(pid).unwrap_or(0), number }
    }

    /// Whether it is certain that the process runs no longer.
    pub fn is_gone(&self) -> bool {
        let here = Self::in_process(process::id(), 0);
        if self.boot != here.boot {
            return true;
        }
        self.namespace == here.namespace && (start_time(self.pid) != Some(self.started) || has_ended(self.pid))
    }

    /// Whether process ids that it knew mean the same here.
    pub fn shares_pids_with(&self, other: &Self) -> bool {
        self.boot == other.boot && self.namespace == other.namespace
    }

    fn parse(text: &str) -> Option<Self> {
        let [boot, namespace, pid, started, number] = *text.split(' ').collect::<Vec<_>>() else { return None };
        Some(Self {
            boot: boot.to_owned(),
            namespace: namespace.parse().ok()?,
            pid: pid.parse().ok()?,
            started: started.parse().ok()?,
            number: number.parse().ok()?,
        })
    }
}

impl Default for Owner {
    fn default() -> Self {
        Self::new()
    }
}

impl ToSql for Owner {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        let Self { boot, namespace, pid, started, number } = self;
        Ok(format!("{boot} {namespace} {pid} {started} {number}").into())
    }
}

impl FromSql for Owner {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        Self::parse(value.as_str()?).ok_or(FromSqlError::InvalidType)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use brunt_testkit::Running;
    use std::process::Command;

    #[test]
    fn only_processes_that_surely_ended_are_gone() {
        let own = Owner::new();
        assert!(!own.is_gone() && own != Owner::new());
        assert!(Owner { started: own.started + 1, ..own.clone() }.is_gone());
        assert!(Owner { boot: "earlier".to_owned(), ..own.clone() }.is_gone());
        assert!(!Owner { namespace: own.namespace + 1, started: 0, ..own }.is_gone());
        let mut child = Running::start(Command::new("sleep").arg("1000"));
        let child_owner = Owner::in_process(child.pid(), 0);
        assert!(!child_owner.is_gone());
        child.child().kill().unwrap();
        // A zombie until it is waited for.
        brunt_meter::ExitWatch::of(&[child.pid()]).wait(std::time::Duration::from_secs(60));
        assert!(child_owner.is_gone());
        child.child().wait().unwrap();
        assert!(child_owner.is_gone());
    }
}
