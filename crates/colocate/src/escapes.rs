//! Processes of jobs that left their group, as one with the rights of root can. They are found by a variable in their
//! environment.

use crate::clock;
use brunt_meter::cgroup::{Files, members};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

/// Environment variable of every job: the name of its group.
pub const MARK: &str = "BRUNT_COLOCATE";

/// What was found outside.
#[derive(Debug, Default)]
pub struct Escaped {
    pub pids: BTreeSet<u32>,
    /// A process was just starting a program, so that it cannot be told whose it is.
    pub undecided: bool,
}

/// Time between two looks while a process is undecided.
const AGAIN: Duration = Duration::from_millis(1);
/// Most looks: one that forks meanwhile leaves a child with the same environment.
const LOOKS: u32 = 10;

/// The processes of jobs of these directories, of one group or several, that are in none of them.
pub fn escaped(files: &dyn Files, dirs: &[PathBuf]) -> Escaped {
    let names: BTreeSet<_> = dirs.iter().filter_map(|dir| dir.file_name()).collect();
    let mut escaped = Escaped::default();
    for found in names.into_iter().map(|name| files.marked(MARK, name)) {
        escaped.undecided |= found.undecided;
        escaped.pids.extend(found.marked);
    }
    escaped.pids.remove(&std::process::id());
    let inside = members(files, dirs);
    escaped.pids.retain(|pid| !inside.contains(pid));
    escaped
}

/// Kills them.
pub fn kill(files: &dyn Files, dirs: &[PathBuf]) {
    for _ in 0..LOOKS {
        let Escaped { pids, undecided } = escaped(files, dirs);
        match (pids.is_empty(), undecided) {
            (true, false) => return,
            (true, true) => clock::sleep(AGAIN),
            (false, _) => pids.into_iter().for_each(|pid| files.kill(pid)),
        }
    }
}
