//! Processes of jobs that left their group, as one with the rights of root can. They are found by a variable in their
//! environment.

use brunt_meter::cgroup::{Files, members};
use brunt_meter::marked;
use std::collections::BTreeSet;
use std::path::PathBuf;

/// Environment variable of every job: the name of its group.
pub const MARK: &str = "BRUNT_COLOCATE";

/// The processes of jobs of these directories, of one group or several, that are in none of them.
pub fn escaped(files: &dyn Files, dirs: &[PathBuf]) -> BTreeSet<u32> {
    let names: BTreeSet<_> = dirs.iter().filter_map(|dir| dir.file_name()).collect();
    let mut pids: BTreeSet<u32> = names.into_iter().flat_map(|name| marked::find(MARK, name).marked).collect();
    pids.remove(&std::process::id());
    let inside = members(files, dirs);
    pids.retain(|pid| !inside.contains(pid));
    pids
}

/// Kills them.
pub fn kill(files: &dyn Files, dirs: &[PathBuf]) {
    // One that forks meanwhile leaves a child with the same environment.
    for _ in 0..10 {
        let escaped = escaped(files, dirs);
        if escaped.is_empty() {
            return;
        }
        escaped.into_iter().for_each(|pid| files.kill(pid));
    }
}
