//! The journal and the guardian of a run: whatever ends it, the changes of this machine are undone.

use crate::guardian::{Guardian, Options};
use crate::journal::{self, Journal};
use brunt_meter::cgroup::Linux;
use brunt_meter::proc_stat::stat_field;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};

#[derive(Debug)]
pub(super) struct Changes {
    brunt: PathBuf,
    options: Options,
    /// `None` once it is undone.
    journal: Option<Journal>,
    guardian: Option<Guardian>,
    /// Hears no heartbeats: it undoes what is left when this process and the guardian have both ended.
    last: Option<Guardian>,
}

impl Changes {
    pub(super) fn begin(brunt: &Path, period: Duration, grace: Duration) -> io::Result<Self> {
        let journal = Journal::in_folder(&journal::folder()?)?;
        let options = Options { journal: journal.path().to_owned(), period, grace };
        let mut changes = Self { brunt: brunt.to_owned(), options, journal: Some(journal), guardian: None, last: None };
        changes.start_guardians()?;
        Ok(changes)
    }

    /// Starts those that have ended.
    fn start_guardians(&mut self) -> io::Result<()> {
        if self.last.is_none() {
            self.last = Some(Guardian::start(&self.brunt, &self.options, None)?);
        }
        if self.guardian.is_none() {
            self.guardian = Some(Guardian::start(&self.brunt, &self.options, self.last.as_ref())?);
        }
        Ok(())
    }

    pub(super) fn journal(&mut self) -> io::Result<&mut Journal> {
        self.journal.as_mut().ok_or_else(|| io::Error::other("the changes are undone"))
    }

    /// The guardian, and the one that takes over from it.
    pub(super) fn guardian_pids(&self) -> Vec<u32> {
        self.guardian.iter().chain(&self.last).map(Guardian::pid).collect()
    }

    /// Sends a heartbeat. Guardians that have gone are replaced; without one the run must end. Whether one was replaced.
    pub(super) fn beat(&mut self, warnings: &mut Vec<String>) -> io::Result<bool> {
        if self.guardian.is_none() {
            return Ok(false);
        }
        let mut is_replaced = false;
        if self.last.as_mut().is_some_and(Guardian::has_ended) {
            // The guardian does not hold its pipe: both will take over, one after the other.
            warnings.push("the last guardian is gone; another one is started".to_owned());
            (self.last, is_replaced) = (None, true);
        }
        if let Some(guardian) = &mut self.guardian {
            match guardian.beat() {
                Ok(()) => {}
                // One that is stopped reads again later.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => {
                    warnings.push(format!("{error}; another one is started"));
                    (self.guardian, is_replaced) = (None, true);
                }
            }
        }
        self.start_guardians()?;
        Ok(is_replaced)
    }

    /// Undoes everything; what could not be undone.
    pub(super) fn undo(&mut self) -> Vec<String> {
        let mut problems = self.journal.take().map_or(Vec::new(), |journal| journal.undo(&Linux));
        let guardians = [self.guardian.take(), self.last.take()];
        let stopped = guardians.into_iter().flatten().map(Guardian::stop);
        problems.extend(stopped.filter_map(Result::err).map(|error| error.to_string()));
        problems
    }

    /// CPU time of this process and of the guardians, in seconds.
    pub(super) fn cpu_seconds(&self) -> f64 {
        let ticks = |pid: String| -> u64 {
            let stat = PathBuf::from(format!("/proc/{pid}/stat"));
            [14, 15].iter().map(|field| stat_field::<u64>(&stat, *field).unwrap_or(0)).sum()
        };
        self.pids().map(ticks).sum::<u64>() as f64 / rustix::param::clock_ticks_per_second() as f64
    }

    /// Proportional set size of all, in bytes.
    pub(super) fn memory(&self) -> u64 {
        let memory = |pid: String| -> Option<u64> {
            let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
            text.lines().find_map(|line| line.strip_prefix("Pss:")?.trim().strip_suffix(" kB")?.parse().ok())
        };
        self.pids().filter_map(memory).sum::<u64>() << 10
    }

    fn pids(&self) -> impl Iterator<Item = String> {
        let guardians = self.guardian_pids().into_iter().map(|pid| pid.to_string());
        std::iter::once("self".to_owned()).chain(guardians)
    }
}

impl Drop for Changes {
    fn drop(&mut self) {
        self.undo();
    }
}
