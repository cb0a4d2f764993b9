//! How a job becomes a process, which is the caller's choice: directly, or in a control group.

use crate::queue::Job;
use std::path::PathBuf;
use std::process::Command;

/// A function of a job to its command is a launcher without a control group.
pub trait Launcher {
    /// The program and its arguments: the job's, behind those of a wrapper if there is one. The runner adds everything else:
    /// environment, working directory, output, a process group.
    ///
    /// # Errors
    /// One line: the job cannot be run as it is to be.
    fn command(&self, job: &Job) -> Result<Command, String>;

    /// The control group that the wrapper enters. With one, [`Self::kill`] finds all processes of the job; without, the runner
    /// looks for them by the job's process group and by their environment.
    fn cgroup(&self, _job: &Job) -> Option<PathBuf> {
        None
    }

    /// Kills all processes in the job's control group, frozen ones too; whether there were any. Called again until there are
    /// none.
    fn kill(&self, _job: &Job) -> bool {
        false
    }

    /// The job does not run again.
    fn forget(&self, _job: i64) {}

    /// Processes that the kernel has killed because the memory of the jobs was used up.
    fn memory_kills(&self, _job: i64) -> MemoryKills {
        MemoryKills::default()
    }

    /// CPU time of the control group since the attempt began. Without it the runner adds up the job's process and its
    /// descendants.
    fn cpu_seconds(&self, _job: &Job) -> Option<f64> {
        None
    }
}

impl<F: Fn(&Job) -> Command> Launcher for F {
    fn command(&self, job: &Job) -> Result<Command, String> {
        Ok(self(job))
    }
}

/// Processes that the kernel has killed because memory was used up; `None` if that is not known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MemoryKills {
    /// Processes of the job, where it has a limit of its own.
    pub own: Option<u64>,
    /// Whether it was this limit.
    pub by_own_limit: bool,
    /// Processes of any job without a limit of its own.
    pub all: Option<u64>,
}

/// The job's own program and arguments.
pub fn plain(job: &Job) -> Command {
    let (program, args) = job.spec.argv.split_first().map_or(("", &[][..]), |(program, args)| (program.as_str(), args));
    let mut command = Command::new(program);
    command.args(args);
    command
}
