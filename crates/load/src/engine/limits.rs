//! The limit of open files, raised as far as this process may, and a clear word when that is not far enough.

use crate::error::LoadError;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Descriptors of a load thread beside its connections: ring or epoll, wake-up, and some to spare.
const EACH_THREAD: u64 = 8;
/// Kept for the caller: files it opens while the load runs.
const SPARE: u64 = 32;

/// Makes room for `connections`, or says how many fit. Where they are `replaced` all the time there may be twice as many
/// for a moment, the old ones on their way out; room for those is made as far as the limit goes.
pub fn make_room(connections: usize, threads: usize, replaced: bool) -> Result<(), LoadError> {
    let limit = getrlimit(Resource::Nofile);
    let beside = open_now() + each(threads as u64);
    let needed = connections as u64 + beside;
    let unlimited = u64::MAX;
    let (soft, hard) = (limit.current.unwrap_or(unlimited), limit.maximum.unwrap_or(unlimited));
    let wanted = needed + if replaced { connections as u64 } else { 0 };
    if wanted <= soft {
        return Ok(());
    }
    let raised = Rlimit { current: Some(wanted.min(hard)), maximum: limit.maximum };
    if needed > hard || setrlimit(Resource::Nofile, raised).is_err() {
        return Err(LoadError::Descriptors { connections, fit: hard.saturating_sub(beside) as usize, limit: hard });
    }
    Ok(())
}

fn each(threads: u64) -> u64 {
    threads * EACH_THREAD + SPARE
}

/// Descriptors open in this process.
fn open_now() -> u64 {
    std::fs::read_dir("/proc/self/fd").map_or(64, |entries| entries.count() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_connections_than_files_are_refused_with_the_number_that_fits() {
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
