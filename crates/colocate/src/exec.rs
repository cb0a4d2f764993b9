//! Starts the program of a job inside its group: the process enters the group itself and then becomes the program, so that
//! no instruction of the job runs outside.

use crate::{cgroup::enter, escapes::MARK, user::User};
use brunt_meter::cgroup::{Files, is_name};
use rustix::process::{Pid, getppid};
use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fmt, io};

/// Exit codes of a process that did not become the program; those of env(1) and timeout(1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// The group could not be entered; nothing of the program ran.
    Enter = 125,
    /// The program exists and cannot be run.
    Run = 126,
    /// There is no such program.
    Find = 127,
}

#[derive(Debug)]
pub struct Failure {
    pub stage: Stage,
    why: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)
    }
}

impl std::error::Error for Failure {}

/// How a job is started.
#[derive(Debug, Clone)]
pub struct Exec {
    /// Directories of the group.
    pub groups: Vec<PathBuf>,
    /// The process that starts the job. Nothing is started without it.
    pub parent: Option<u32>,
    /// The user that it runs as; without one that of this process.
    pub user: Option<String>,
    pub program: OsString,
    pub args: Vec<OsString>,
}

impl Exec {
    /// The command that starts the job: `brunt colocate exec` of this binary. See [`Stage`] for its exit codes.
    pub fn command(&self, brunt: &Path) -> Command {
        let mut command = Command::new(brunt);
        command.args(["colocate", "exec"]);
        self.groups.iter().for_each(|dir| _ = command.arg("--group").arg(dir));
        if let Some(parent) = self.parent {
            command.args(["--parent", &parent.to_string()]);
        }
        if let Some(user) = &self.user {
            command.args(["--user", user]);
        }
        command.arg("--").arg(&self.program).args(&self.args);
        command
    }

    /// Returns only if the program cannot be started.
    pub fn run(&self, files: &dyn Files) -> Failure {
        let mut command = Command::new(&self.program);
        command.args(&self.args);
        if let Err(error) = self.prepare(files, &mut command) {
            return Failure { stage: Stage::Enter, why: error.to_string() };
        }
        if let Some(name) = self.group_name() {
            command.env(MARK, name);
        }
        let error = command.exec();
        let stage = if error.kind() == io::ErrorKind::NotFound { Stage::Find } else { Stage::Run };
        Failure { stage, why: format!("{}: {error}", Path::new(&self.program).display()) }
    }

    fn prepare(&self, files: &dyn Files, command: &mut Command) -> io::Result<()> {
        if let Some(parent) = self.parent {
            // It may have ended before.
            let now = getppid().map_or(0, Pid::as_raw_pid);
            if i64::from(now) != i64::from(parent) {
                return Err(io::Error::other(format!("process {parent}, which started this job, is gone")));
            }
        }
        // The first to be killed where memory runs out.
        files.write(Path::new("/proc/self/oom_score_adj"), "1000")?;
        enter(files, &self.groups, "0")?;
        // As root until here: a user cannot enter the groups, nor leave them.
        if let Some(user) = &self.user {
            let user = User::named(user).map_err(io::Error::other)?;
            let named = |error| io::Error::other(format!("user {}: {error}", user.name));
            user.take().map_err(named)?;
            command.env("HOME", &user.home).env("USER", &user.name).env("LOGNAME", &user.name);
        }
        Ok(())
    }

    /// The name of the group of all jobs.
    fn group_name(&self) -> Option<String> {
        let parts = self.groups.iter().flat_map(|dir| dir.iter()).filter_map(|part| part.to_str());
        parts.filter(|part| is_name(part)).map(str::to_owned).next()
    }
}
