//! Limits of one job, besides those of all jobs together. They do not depend on the allotment.

use super::Part;
use super::{cpu, memory::Memory, pids::Pids};
use crate::cgroup::{Group, JobLimits};
use std::io;

/// `job` has the directories of the job alone. The error says what cannot be limited, and why.
pub(super) fn limit(job: &Group, of_all: &Group, limits: &JobLimits) -> io::Result<()> {
    let named = |name: &'static str| move |error: io::Error| io::Error::new(error.kind(), format!("{name}: {error}"));
    let JobLimits { memory, processes, cores } = *limits;
    let has = |controller, files: &[&str]| match job.file(files) {
        Some(_) => Ok(()),
        None => Err(io::Error::other(of_all.why_missing(controller))),
    };
    if memory.is_some() {
        let mut part = Memory::new(job, memory);
        has("memory", &["memory.max", "memory.limit_in_bytes"]).and_then(|()| part.floor()).map_err(named("memory"))?;
    }
    if processes.is_some() {
        let mut part = Pids::new(job, processes);
        has("pids", &["pids.max"]).and_then(|()| part.floor()).map_err(named("processes"))?;
    }
    cores.map_or(Ok(()), |cores| cpu::limit_job(job, of_all, cores).map_err(named("cores")))
}
