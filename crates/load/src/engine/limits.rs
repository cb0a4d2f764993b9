//! Raises this process's limit of open files for the connections of a run.

use crate::error::LoadError;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Files of a load thread besides its connections: ring or epoll set, wake-up, and a margin.
const PER_THREAD: u64 = 8;
const MARGIN: u64 = 32;

/// Raises the soft limit for `connections`, or fails with how many the hard limit allows. Connections that are replaced
/// throughout the run may exist twice for a moment; for those it is raised as far as it goes.
pub fn make_room(connections: usize, threads: usize, replaces_connections: bool) -> Result<(), LoadError> {
    let open_now = std::fs::read_dir("/proc/self/fd").map_or(64, |entries| entries.count() as u64);
    let overhead = open_now + threads as u64 * PER_THREAD + MARGIN;
    let needed = connections as u64 + overhead;
    let wanted = needed + if replaces_connections { connections as u64 } else { 0 };
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let (soft, hard) = (current.unwrap_or(u64::MAX), maximum.unwrap_or(u64::MAX));
    if wanted <= soft {
        return Ok(());
    }
    if needed > hard || setrlimit(Resource::Nofile, Rlimit { current: Some(wanted.min(hard)), maximum }).is_err() {
        return Err(LoadError::Descriptors { connections, fit: hard.saturating_sub(overhead) as usize, limit: hard });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_many_connections_are_rejected_with_the_number_that_fits() {
        assert!(make_room(10, 2, true).is_ok());
        let hard = getrlimit(Resource::Nofile).maximum.unwrap_or(u64::MAX);
        let Some(too_many) = hard.checked_add(1) else { return };
        match make_room(too_many as usize, 2, false).unwrap_err() {
            LoadError::Descriptors { fit, limit, .. } => {
                assert_eq!(limit, hard);
                assert!((fit as u64) < hard && fit as u64 > hard / 2);
            }
            other => panic!("{other}"),
        }
    }
}
