//! Processes found by a variable in their environment, which every process inherits from its parent unless one removes it.

use std::ffi::OsStr;
use std::{fs, os::unix::ffi::OsStrExt};

/// The running processes that were started with this variable, of this value.
pub fn processes(name: &str, value: &OsStr) -> impl Iterator<Item = u32> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    processes
        .filter_map(|process| process.file_name().to_str()?.parse().ok())
        .filter(move |pid| is_marked(*pid, name, value))
}

pub fn is_marked(pid: u32, name: &str, value: &OsStr) -> bool {
    // Empty once the process has ended.
    let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    let value = value.as_bytes();
    let mut variables = environment.split(|byte| *byte == 0);
    variables.any(|variable| {
        let rest = variable.strip_prefix(name.as_bytes());
        rest.and_then(|rest| rest.strip_prefix(b"=")) == Some(value)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_process_is_found_by_its_variable_until_it_ends() {
        let value = format!("{}", std::process::id());
        let found = || processes("BRUNT_METER_TEST", OsStr::new(&value)).collect::<Vec<_>>();
        let mut child = Command::new("sleep").arg("60").env("BRUNT_METER_TEST", &value).spawn().unwrap();
        assert_eq!(found(), [child.id()]);
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(found(), [0; 0]);
    }
}
