//! An attempt while it runs: its processes, its output, and its end.

use super::launch::Launcher;
use super::output::{Output, Stream};
use super::progress::Tracker;
use super::{Live, process};
use crate::queue::{AttemptId, Job, Outcome, Usage};
use brunt_meter::{ProcessTree, proc_stat::start_time};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

#[derive(Debug)]
pub(super) struct Running {
    job: Job,
    id: AttemptId,
    mark: OsString,
    in_cgroup: bool,
    child: Child,
    group: Pid,
    /// In clock ticks since boot; 0 if unknown.
    started_ticks: u64,
    /// Of the first process, once it has ended; or why it is not known.
    status: Option<Result<ExitStatus, String>>,
    ending: Option<Ending>,
    stdout: Stream,
    stderr: Stream,
    /// Observed from the first sample on, for which all processes of the machine are read.
    tree: Option<ProcessTree>,
    tracker: Tracker,
    usage: Usage,
    since: Instant,
    frozen_since: Option<Instant>,
    frozen: Duration,
    warning: Option<String>,
}

/// The runner ends the attempt.
#[derive(Debug)]
struct Ending {
    outcome: Outcome,
    kill_at: Instant,
}

impl Running {
    /// The command that starts a job. The error is one line.
    pub(super) fn command<L: Launcher>(job: &Job, mark: &OsStr, launcher: &L) -> Result<Command, String> {
        let dir = &job.spec.dir;
        if !dir.is_dir() {
            return Err(format!("the working directory {} does not exist", dir.display()));
        }
        let mut command = launcher.command(job)?;
        command.envs(&job.spec.env).env(process::MARK, mark).current_dir(dir).process_group(0);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Ok(command)
    }

    /// Follows a process that was started by this command.
    pub(super) fn new(
        job: Job,
        id: AttemptId,
        mark: OsString,
        in_cgroup: bool,
        mut child: Child,
        output: &Output,
        now: Instant,
    ) -> Result<Self, String> {
        let group = Pid::from_child(&child);
        let (stdout, stderr) = streams(&mut child, output, id).map_err(|error| {
            process::kill_group(group);
            let _ = child.wait();
            format!("its output cannot be read: {error}")
        })?;
        Ok(Self {
            in_cgroup,
            started_ticks: start_time(child.id()).unwrap_or(0),
            tree: None,
            job,
            id,
            mark,
            child,
            group,
            status: None,
            ending: None,
            stdout,
            stderr,
            tracker: Tracker::default(),
            usage: Usage::default(),
            since: now,
            frozen_since: None,
            frozen: Duration::ZERO,
            warning: None,
        })
    }

    pub(super) fn id(&self) -> AttemptId {
        self.id
    }

    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(super) fn started_ticks(&self) -> u64 {
        self.started_ticks
    }

    pub(super) fn usage(&self) -> Usage {
        self.usage
    }

    pub(super) fn warning(&mut self) -> Option<String> {
        self.warning.take()
    }

    pub(super) fn live(&self) -> Live<'_> {
        Live {
            job: &self.job,
            id: self.id,
            pid: self.pid(),
            since: self.since,
            usage: self.usage,
            is_ending: self.ending.is_some(),
        }
    }

    pub(super) fn set_frozen(&mut self, frozen: bool, now: Instant) {
        match (frozen, self.frozen_since) {
            (true, None) => self.frozen_since = Some(now),
            (false, Some(since)) => {
                self.frozen += now.duration_since(since);
                self.frozen_since = None;
            }
            _ => {}
        }
    }

    /// Tells the processes to end. False if the attempt has ended by itself, or has been told before.
    pub(super) fn end(&mut self, outcome: Outcome, grace: Duration, now: Instant) -> bool {
        let own = self.job.spec.options.term_grace.filter(|_| !grace.is_zero());
        let grace = own.map_or(grace, |own| own.0);
        if let Some(ending) = &mut self.ending {
            ending.kill_at = ending.kill_at.min(now + grace);
            return false;
        }
        if self.status.is_some() || self.has_exited() {
            return false;
        }
        if !grace.is_zero() {
            let _ = kill_process_group(self.group, Signal::TERM);
            // A stopped process would never receive SIGTERM.
            let _ = kill_process_group(self.group, Signal::CONT);
        }
        self.ending = Some(Ending { outcome, kill_at: now + grace });
        true
    }

    /// Reads output and follows the end of the processes; the outcome once all of them have gone.
    pub(super) fn poll<L: Launcher>(&mut self, now: Instant, launcher: &L) -> Option<Outcome> {
        self.read(Stream::read);
        if self.status.is_none() && self.has_exited() {
            // A process that has not been waited for still tells its CPU time.
            self.sample(now, launcher);
            let status = self.child.try_wait().map_err(|error| format!("its exit code cannot be read: {error}"));
            self.status = status.transpose();
        }
        let is_time = self.ending.as_ref().is_some_and(|ending| ending.kill_at <= now);
        if (self.status.is_some() || is_time) && self.kill(launcher) {
            return None;
        }
        let status = self.status.take()?;
        self.read(Stream::finish);
        self.sample_progress(now);
        let by_itself = || match status {
            Ok(status) => status.code().map_or(Outcome::Signalled(status.signal().unwrap_or(0)), Outcome::Exited),
            Err(why) => Outcome::Error(why),
        };
        Some(self.ending.take().map_or_else(by_itself, |ending| ending.outcome))
    }

    /// Measures what has been used so far.
    pub(super) fn sample<L: Launcher>(&mut self, now: Instant, launcher: &L) -> Usage {
        let cpu_seconds = launcher.cpu_seconds(&self.job).or_else(|| self.cpu_seconds());
        self.usage.cpu_seconds = cpu_seconds.or(self.usage.cpu_seconds);
        let frozen = self.frozen + self.frozen_since.map_or(Duration::ZERO, |since| now.duration_since(since));
        self.usage.frozen_seconds = Some(frozen.as_secs_f64());
        self.sample_progress(now);
        self.usage
    }

    fn cpu_seconds(&mut self) -> Option<f64> {
        let pid = self.child.id();
        if self.tree.is_none() && self.has_exited() {
            // Its children are not seen any more, except for their time.
            return ProcessTree::cpu_seconds_by(pid);
        }
        Some(self.tree.get_or_insert_with(|| ProcessTree::observe(&[pid])).cpu_seconds())
    }

    /// Whether the first process has ended; it stays a zombie.
    fn has_exited(&self) -> bool {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        // There is no child to wait for where SIGCHLD is ignored.
        !matches!(waitid(WaitId::Pid(self.group), options), Ok(None))
    }

    fn sample_progress(&mut self, now: Instant) {
        self.tracker.sample(now, self.usage.cpu_seconds);
        self.usage.progress = self.tracker.progress();
    }

    fn read(&mut self, read: fn(&mut Stream, Option<&crate::queue::Pattern>, &mut Option<String>) -> Option<f64>) {
        let pattern = self.job.spec.progress_pattern.as_ref();
        for stream in [&mut self.stdout, &mut self.stderr] {
            self.tracker.print(read(stream, pattern, &mut self.warning));
        }
    }

    /// Kills all processes of the attempt; whether there were any.
    fn kill<L: Launcher>(&self, launcher: &L) -> bool {
        let in_group = process::kill_group(self.group);
        let elsewhere = if self.in_cgroup { launcher.kill(&self.job) } else { process::kill_marked(&self.mark) };
        in_group || elsewhere
    }
}

fn streams(child: &mut Child, output: &Output, id: AttemptId) -> io::Result<(Stream, Stream)> {
    let pipes = child.stdout.take().zip(child.stderr.take());
    let (stdout, stderr) = pipes.ok_or_else(|| io::Error::other("it has no pipes"))?;
    Ok((Stream::new(stdout.into(), output, id, "out")?, Stream::new(stderr.into(), output, id, "err")?))
}
