//! Processes found by a variable in their environment, which every process inherits from its parent unless one removes it.

use crate::proc_stat::field;
use std::ffi::OsStr;
use std::{fs, os::unix::ffi::OsStrExt};

#[derive(Debug, Default)]
pub struct Found {
    /// The running processes that were started with the variable.
    pub marked: Vec<u32>,
    /// Whether there are processes, any, that were just starting another program or ending: their environment cannot be read.
    pub undecided: bool,
}

/// Looks for processes with this variable, of this value.
pub fn find(name: &str, value: &OsStr) -> Found {
    let mut found = Found::default();
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    for pid in processes.filter_map(|process| process.file_name().to_str()?.parse().ok()) {
        match environment(pid) {
            Some(environment) if has(&environment, name, value) => found.marked.push(pid),
            Some(_) => {}
            None => found.undecided = true,
        }
    }
    found
}

pub fn is_marked(pid: u32, name: &str, value: &OsStr) -> bool {
    environment(pid).is_some_and(|environment| has(&environment, name, value))
}

/// The environment of a process; empty without a process, `None` if it cannot be told.
fn environment(pid: u32) -> Option<Vec<u8>> {
    // Empty too if the process began another program between the opening of the file and the reading.
    for _ in 0..3 {
        // Or an error, while the kernel replaces its memory.
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        if !environment.is_empty() {
            return Some(environment);
        }
        if is_undecided(pid) {
            return None;
        }
    }
    Some(Vec::new())
}

fn has(environment: &[u8], name: &str, value: &OsStr) -> bool {
    let mut variables = environment.split(|byte| *byte == 0);
    variables.any(|variable| {
        let rest = variable.strip_prefix(name.as_bytes());
        rest.and_then(|rest| rest.strip_prefix(b"=")) == Some(value.as_bytes())
    })
}

/// Whether a process without environment has no arguments either, and is no kernel thread and no zombie.
fn is_undecided(pid: u32) -> bool {
    /// Of the flags in `/proc/PID/stat`: a kernel thread.
    const PF_KTHREAD: u32 = 0x0020_0000;
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = field::<char>(&stat, 3);
    let flags = field::<u32>(&stat, 9);
    let runs = state.is_some_and(|state| !matches!(state, 'Z' | 'X'));
    let is_ours = flags.is_some_and(|flags| flags & PF_KTHREAD == 0);
    runs && is_ours && fs::read(format!("/proc/{pid}/cmdline")).map_or(true, |arguments| arguments.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_process_is_found_by_its_variable_until_it_ends() {
        let value = format!("{}", std::process::id());
        // Until it is told of all processes: the child may be about to start its program.
        let found = || loop {
            let Found { marked, undecided } = find("BRUNT_METER_TEST", OsStr::new(&value));
            if !undecided || !marked.is_empty() {
                return marked;
            }
            std::thread::yield_now();
        };
        let mut child = Command::new("sleep").arg("60").env("BRUNT_METER_TEST", &value).spawn().unwrap();
        assert_eq!(found(), [child.id()]);
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(found(), [0; 0]);
    }
}
