//! The limit of open files of this process.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::io;

/// The most files that this process may have open, once it has raised its limit.
pub fn hard() -> u64 {
    getrlimit(Resource::Nofile).maximum.unwrap_or(u64::MAX)
}

/// Raises the limit to the most there may be.
///
/// # Errors
/// The kernel's, which gives every process its hard limit.
pub fn raise() -> io::Result<()> {
    let limit = getrlimit(Resource::Nofile);
    Ok(setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum })?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_raised_to_the_most_and_no_further() {
        let before = hard();
        raise().unwrap();
        let now = getrlimit(Resource::Nofile);
        assert_eq!((now.current.unwrap_or(u64::MAX), hard()), (before, before));
    }
}
