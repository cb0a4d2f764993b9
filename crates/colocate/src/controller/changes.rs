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
}

impl Changes {
    pub(super) fn begin(brunt: &Path, period: Duration, grace: Duration) -> io::Result<Self> {
        let journal = Journal::in_folder(&journal::folder()?)?;
        let options = Options { journal: journal.path().to_owned(), period, grace };
        let mut changes = Self { brunt: brunt.to_owned(), options, journal: Some(journal), guardian: None };
        changes.guardian = Some(Guardian::start(brunt, &changes.options)?);
        Ok(changes)
    }

    pub(super) fn journal(&mut self) -> io::Result<&mut Journal> {
        self.journal.as_mut().ok_or_else(|| io::Error::other("the changes are undone"))
    }

    pub(super) fn guardian_pid(&self) -> Option<u32> {
        self.guardian.as_ref().map(Guardian::pid)
    }

    /// Sends a heartbeat. A guardian that has gone is replaced; without one the run must end.
    pub(super) fn beat(&mut self, warnings: &mut Vec<String>) -> io::Result<()> {
        let Some(guardian) = &mut self.guardian else { return Ok(()) };
        match guardian.beat() {
            Ok(()) => Ok(()),
            // One that is stopped reads again later.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(()),
            Err(error) => {
                warnings.push(format!("{error}; another one is started"));
                self.guardian = Some(Guardian::start(&self.brunt, &self.options)?);
                Ok(())
            }
        }
    }

    /// Undoes everything; what could not be undone.
    pub(super) fn undo(&mut self) -> Vec<String> {
        let mut problems = self.journal.take().map_or(Vec::new(), |journal| journal.undo(&Linux));
        let stopped = self.guardian.take().map(Guardian::stop);
        problems.extend(stopped.and_then(Result::err).map(|error| error.to_string()));
        problems
    }

    /// CPU time of this process and of the guardian, in seconds.
    pub(super) fn cpu_seconds(&self) -> f64 {
        let ticks = |pid: String| -> u64 {
            let stat = PathBuf::from(format!("/proc/{pid}/stat"));
            [14, 15].iter().map(|field| stat_field::<u64>(&stat, *field).unwrap_or(0)).sum()
        };
        self.pids().map(ticks).sum::<u64>() as f64 / rustix::param::clock_ticks_per_second() as f64
    }

    /// Proportional set size of both, in bytes.
    pub(super) fn memory(&self) -> u64 {
        let memory = |pid: String| -> Option<u64> {
            let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
            text.lines().find_map(|line| line.strip_prefix("Pss:")?.trim().strip_suffix(" kB")?.parse().ok())
        };
        self.pids().filter_map(memory).sum::<u64>() << 10
    }

    fn pids(&self) -> impl Iterator<Item = String> {
        std::iter::once("self".to_owned()).chain(self.guardian_pid().map(|pid| pid.to_string()))
    }
}

impl Drop for Changes {
    fn drop(&mut self) {
        self.undo();
    }
}
