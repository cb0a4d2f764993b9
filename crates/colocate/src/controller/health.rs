//! Whether a run protects its service, as seen from outside: by the age of what its controller wrote, by its processes and by the
//! control group of its jobs.

use super::status::{Process, Status};
use crate::clock;
use crate::journal::Contents;
use brunt_meter::cgroup::{Files, is_frozen, members};
use brunt_meter::proc_stat::stat_field;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// A controller writes once a second: what is older says that it does not.
const OLD: f64 = 3.0;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    Running,
    /// By a signal, or a debugger.
    Stopped,
    Gone,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FrozenBy {
    Policy,
    Guardian,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Health {
    /// Whether the policy decides, and what it decides is in effect.
    pub is_protecting: bool,
    pub controller: State,
    /// Guardians that run.
    pub guardians: Vec<u32>,
    /// Age of the status, in seconds.
    pub age: f64,
    /// What froze the jobs, if they are frozen or the kernel is freezing them, for which each process needs a core.
    pub frozen_by: Option<FrozenBy>,
    /// Processes of the jobs at this moment.
    pub processes: usize,
    /// What is wrong, in sentences.
    pub problems: Vec<String>,
    /// The command that mends it.
    pub remedy: Option<String>,
}

impl Health {
    /// Of the run with this journal.
    pub fn of(files: &dyn Files, journal: &Path, status: &Status) -> Self {
        let groups = Contents::read(journal).map(|contents| contents.groups()).unwrap_or_default();
        let controller = state(status.controller);
        let looked = status.guardians.iter().map(|guardian| (guardian.pid, state(*guardian)));
        let there: Vec<(u32, State)> = looked.filter(|(_, state)| *state != State::Gone).collect();
        let are_stopped = there.iter().all(|(_, state)| *state == State::Stopped);
        let guardians: Vec<u32> = there.into_iter().map(|(pid, _)| pid).collect();
        let age = (clock::monotonic().1 - status.written).max(0.0);
        let is_old = age > OLD;
        let by_policy = controller == State::Running && !is_old && status.decision.allotment.is_frozen();
        let frozen_by = (is_frozen(files, &groups) || is_told_to_freeze(files, &groups)).then_some(if by_policy {
            FrozenBy::Policy
        } else {
            FrozenBy::Guardian
        });
        let mut health = Self {
            is_protecting: controller == State::Running && !is_old && status.faults.is_empty(),
            controller,
            guardians,
            age,
            frozen_by,
            processes: members(files, &groups).len(),
            problems: status.faults.clone(),
            remedy: None,
        };
        health.explain(status, journal, are_stopped);
        health
    }

    fn explain(&mut self, status: &Status, journal: &Path, are_stopped: bool) {
        let pid = status.controller.pid;
        let jobs = match (self.processes, self.frozen_by) {
            (0, _) => "no process of a job is left".to_owned(),
            (_, Some(_)) => "the jobs are frozen".to_owned(),
            (_, None) => format!("the jobs run on, with {:.2} cores", status.decision.allotment.cores),
        };
        match (self.controller, self.guardians.first()) {
            (State::Gone, Some(guardian)) => {
                let task = "ends them and undoes all changes";
                self.problems.push(format!("the controller is gone: {jobs}; guardian {guardian} {task}"));
            }
            (State::Gone, None) => {
                self.problems.push(format!("the controller and its guardians are gone: {jobs}"));
                self.remedy = Some("brunt colocate recover".to_owned());
            }
            (State::Stopped, _) => {
                self.problems.push(format!("the controller is stopped by a signal: {jobs}"));
                self.remedy = Some(format!("kill -CONT {pid}"));
            }
            (State::Running, _) if self.age > OLD => {
                let place = journal.parent().unwrap_or(journal).display();
                let why = format!("the controller hangs, or {place} cannot be written");
                self.problems.push(format!("its status is {:.0} s old: {why}", self.age));
                self.remedy = Some(format!("df {place}"));
            }
            (State::Running, None) => {
                self.problems.push("it has no guardian: another one is started".to_owned());
            }
            (State::Running, Some(_)) if are_stopped => {
                let pids: Vec<String> = self.guardians.iter().map(u32::to_string).collect();
                let why = "nobody undoes its changes if it is killed";
                self.problems.push(format!("its guardians are stopped by a signal: {why}"));
                self.remedy = Some(format!("kill -CONT {}", pids.join(" ")));
            }
            (State::Running, Some(_)) => {}
        }
    }
}

/// Controllers of this user that were killed together with their guardians: their jobs and limits are left.
pub fn left_behind() -> Vec<u32> {
    let all = super::status::all().unwrap_or_default();
    let left = all.into_iter().filter(|(_, status)| {
        let is_gone = |process: &Process| state(*process) == State::Gone;
        is_gone(&status.controller) && status.guardians.iter().all(is_gone)
    });
    left.map(|(_, status)| status.controller.pid).collect()
}

fn is_told_to_freeze(files: &dyn Files, groups: &[PathBuf]) -> bool {
    let says =
        |dir: &PathBuf, name: &str, word: &str| files.read(&dir.join(name)).is_ok_and(|text| text.trim() == word);
    groups.iter().any(|dir| says(dir, "cgroup.freeze", "1") || says(dir, "freezer.state", "FREEZING"))
}

/// What has become of a process.
fn state(process: Process) -> State {
    let stat = format!("/proc/{}/stat", process.pid);
    let field = |number| stat_field::<String>(Path::new(&stat), number);
    if field(22) != Some(process.started.to_string()) {
        return State::Gone;
    }
    match field(3).as_deref() {
        Some("T" | "t") => State::Stopped,
        None | Some("Z" | "X") => State::Gone,
        Some(_) => State::Running,
    }
}
