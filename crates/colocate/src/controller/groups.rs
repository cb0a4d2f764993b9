//! Jobs in control groups of their own, so that each is killed and accounted for by itself.

use crate::actuators::Actuators;
use crate::cgroup::{Group, JobGroup, JobLimits};
use crate::exec::Exec;
use crate::jobs::{Launcher, MemoryKills};
use crate::queue::Job;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::{self, Command};
use std::rc::Rc;
use std::time::Duration;

#[derive(Debug)]
pub(super) struct Groups {
    brunt: PathBuf,
    group: Group,
    /// Directories to enter that are no control groups.
    others: Vec<PathBuf>,
    /// By the id of the job, of its last attempt. A job whose group could not be made runs in the group of all, if it has no limits
    /// of its own.
    jobs: RefCell<HashMap<i64, JobGroup>>,
    /// Attempts so far; numbers the groups.
    made: Cell<u64>,
}

impl Groups {
    pub(super) fn new(brunt: &Path, actuators: &Actuators) -> Rc<Self> {
        let (group, others) = (actuators.group().clone(), actuators.other_dirs().to_vec());
        Rc::new(Self { brunt: brunt.to_owned(), group, others, jobs: RefCell::default(), made: Cell::new(0) })
    }

    /// Removes the group of a job. One that cannot be removed goes with the group of all.
    fn remove(&self, job: i64) {
        let _ = self.jobs.borrow_mut().remove(&job).map(|group| group.remove());
    }

    /// A new group for the next attempt of a job.
    fn make(&self, job: &Job) -> Result<(), String> {
        self.remove(job.id);
        let number = self.made.replace(self.made.get() + 1);
        let limits = limits(job);
        let made = self.group.job(&format!("{}-{number}", job.id), &limits).and_then(|made| {
            let limited = Actuators::limit_job(&made, &self.group);
            limited.inspect_err(|_| _ = made.remove()).map(|()| made)
        });
        match made {
            Ok(made) => _ = self.jobs.borrow_mut().insert(job.id, made),
            Err(why) if limits != JobLimits::default() => {
                return Err(format!("it cannot be limited by itself: {why}; run it without that limit"));
            }
            Err(_) => {}
        }
        Ok(())
    }
}

/// What a job may use by itself.
fn limits(job: &Job) -> JobLimits {
    let options = &job.spec.options;
    let processes = options.processes.map(|count| count.0);
    JobLimits { memory: options.memory.map(|size| size.0), processes, cores: options.cores }
}

impl Launcher for Rc<Groups> {
    fn command(&self, job: &Job) -> Result<Command, String> {
        self.make(job)?;
        let jobs = self.jobs.borrow();
        let dirs = jobs.get(&job.id).map_or(self.group.dirs(), JobGroup::dirs);
        let (program, args) =
            job.spec.argv.split_first().map_or(("", &[][..]), |(program, args)| (program.as_str(), args));
        let exec = Exec {
            groups: dirs.iter().chain(&self.others).cloned().collect(),
            parent: Some(process::id()),
            user: job.spec.options.user.clone(),
            program: program.into(),
            args: args.iter().map(Into::into).collect(),
        };
        Ok(exec.command(&self.brunt))
    }

    fn cgroup(&self, job: &Job) -> Option<PathBuf> {
        self.jobs.borrow().get(&job.id).and_then(|group| group.dirs().last().cloned())
    }

    fn kill(&self, job: &Job) -> bool {
        let jobs = self.jobs.borrow();
        let Some(group) = jobs.get(&job.id) else { return false };
        let has_members = !group.is_empty();
        if has_members {
            // Called again until they have gone.
            let _ = group.kill(Duration::ZERO);
        }
        has_members
    }

    fn forget(&self, job: i64) {
        self.remove(job);
    }

    fn memory_kills(&self, job: i64) -> MemoryKills {
        let jobs = self.jobs.borrow();
        let limited = jobs.get(&job).and_then(|group| Some((group, group.limits().memory?)));
        MemoryKills {
            own: limited.and_then(|(group, _)| group.usage().oom_kills),
            by_own_limit: limited.is_some_and(|(group, memory)| group.own().has_reached(memory)),
            all: self.group.usage().oom_kills,
        }
    }

    fn cpu_seconds(&self, job: &Job) -> Option<f64> {
        let usage = self.jobs.borrow().get(&job.id)?.usage();
        usage.cpu.map(|time| time.as_secs_f64())
    }
}
