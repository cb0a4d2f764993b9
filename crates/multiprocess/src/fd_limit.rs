//! The limit on open files of this process (RLIMIT_NOFILE).

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::io;

/// Files of a thread besides its connections: ring or epoll set, wake-up descriptor, listener, and a margin.
const PER_THREAD: u64 = 8;
/// Files of a process: standard input, output and error, inherited ones, and a margin.
const PER_PROCESS: u64 = 48;

/// The hard limit; `u64::MAX` if there is none.
pub fn hard() -> u64 {
    getrlimit(Resource::Nofile).maximum.unwrap_or(u64::MAX)
}

/// Raises the soft limit to the hard limit.
pub fn raise() -> io::Result<()> {
    let limit = getrlimit(Resource::Nofile);
    Ok(setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum })?)
}

/// Files that a process with `threads` threads needs besides its connections.
pub fn overhead(threads: u64) -> u64 {
    PER_PROCESS + threads * PER_THREAD
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn raise_reaches_the_hard_limit_and_keeps_it() {
        let before = hard();
        raise().unwrap();
        let now = getrlimit(Resource::Nofile);
        assert_eq!((now.current.unwrap_or(u64::MAX), hard()), (before, before));
    }
}
