//! Applies the limits of a target. A shell sets them and then execs the target, so they hold from its first instruction.

use super::cgroup::{self, MemoryCgroup};
use crate::plan::Limits;
use brunt_results::Size;
use rustix::process::{Resource, getrlimit};
use std::path::PathBuf;

/// Why the limits cannot be set here, if so: only root may raise a hard limit.
pub fn unsupported_reason(limits: &Limits) -> Option<String> {
    if rustix::process::geteuid().is_root() {
        // The kernel's maximum holds for root too.
        let most = std::fs::read_to_string("/proc/sys/fs/nr_open").ok()?.trim().parse::<u64>().ok()?;
        let wanted = limits.nofile.filter(|nofile| nofile.0 > most)?;
        return Some(format!("limits: nofile {wanted} is above the kernel's {most}: sysctl fs.nr_open={}", wanted.0));
    }
    let address_space = limits.memory.filter(|_| cgroup::unsupported_reason().is_some());
    let wanted = [
        ("nofile", Resource::Nofile, limits.nofile.map(|count| (count.0, count.to_string()))),
        ("memory", Resource::As, address_space.map(|size| (size.0, size.to_string()))),
        ("memlock", Resource::Memlock, limits.memlock.map(|size| (size.0, size.to_string()))),
    ];
    wanted.into_iter().find_map(|(name, resource, wanted)| {
        let (wanted, shown) = wanted?;
        let most = getrlimit(resource).maximum.filter(|most| wanted > *most)?;
        Some(format!(
            "limits: {name} {shown} is above the hard limit of this process, {most}: run as root, or raise it"
        ))
    })
}

/// A note that the memory limit bounds address space on this machine, if so.
pub fn memory_fallback_note(limits: &Limits) -> Option<String> {
    let why = limits.memory.and_then(|_| cgroup::unsupported_reason())?;
    Some(format!(
        "limits: memory bounds address space here, used or not, because no control group can be created: {why}"
    ))
}

/// Program and arguments that start `program` under these limits, in the control group if there is one.
pub fn wrap_command(
    limits: &Limits,
    program: PathBuf,
    args: Vec<String>,
    cgroup: Option<&MemoryCgroup>,
) -> (PathBuf, Vec<String>) {
    if *limits == Limits::default() {
        return (program, args);
    }
    let kib = |size: Size| (size.0 / 1024).to_string();
    let flags = [
        ("-n", limits.nofile.map(|count| count.0.to_string())),
        ("-v", limits.memory.filter(|_| cgroup.is_none()).map(kib)),
        ("-l", limits.memlock.map(kib)),
    ];
    let set = flags.into_iter().filter_map(|(flag, value)| Some(format!("ulimit {flag} {} && ", value?)));
    let enter = cgroup.map(MemoryCgroup::enter_command).unwrap_or_default();
    let script = format!("{enter}{}exec \"$0\" \"$@\"", set.collect::<String>());
    let words = ["-c".to_owned(), script, program.display().to_string()];
    ("sh".into(), words.into_iter().chain(args).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use brunt_results::Count;
    use std::process::Command;

    #[test]
    fn limits_apply_and_arguments_are_unchanged() {
        let limits = Limits { nofile: Some(Count(57)), memory: Some(Size(512 << 20)), memlock: Some(Size(8 << 10)) };
        let script = "ulimit -n; ulimit -v; ulimit -l; echo \"$1\"".to_owned();
        let (program, args) =
            wrap_command(&limits, "sh".into(), vec!["-c".into(), script, "me".into(), "a 'b' $c".into()], None);
        let output = Command::new(program).args(args).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), "57\n524288\n8\na 'b' $c\n");
    }

    #[test]
    fn without_limits_the_command_is_unchanged() {
        let (program, args) = wrap_command(&Limits::default(), "x".into(), vec!["y".into()], None);
        assert_eq!((program, args), ("x".into(), vec!["y".to_owned()]));
        assert_eq!(unsupported_reason(&Limits::default()), None);
    }

    #[test]
    fn limits_above_the_maximum_are_refused() {
        let why = unsupported_reason(&Limits { nofile: Some(Count(1 << 50)), ..Limits::default() }).unwrap();
        assert!(why.contains("nofile 1125899906842624 is above"), "{why}");
    }
}
