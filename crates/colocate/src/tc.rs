//! Queueing disciplines, by the program `tc` of iproute2.

use std::io;
use std::process::{Command, Stdio};

/// Major number of our queueing disciplines.
pub const HANDLE: &str = "b7c0:";

/// Runs `tc` with these words and returns what it prints.
pub fn run(words: &[&str]) -> io::Result<String> {
    let output = Command::new("tc").args(words).stdin(Stdio::null()).output();
    let output =
        output.map_err(|error| io::Error::new(error.kind(), format!("tc (Debian package iproute2): {error}")))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let why = String::from_utf8_lossy(&output.stderr);
    let why = why.lines().next().unwrap_or("no reason given").trim();
    Err(io::Error::other(format!("tc {}: {why}", words.join(" "))))
}

/// The root queueing discipline of an interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Root {
    /// What the kernel has put there by itself.
    Default,
    /// Made here.
    Ours,
    /// Made by another program: its line in the output of `tc qdisc show`.
    Foreign(String),
}

pub fn root(interface: &str) -> io::Result<Root> {
    Ok(parse_root(&run(&["qdisc", "show", "dev", interface])?))
}

/// `qdisc htb b7c0: root refcnt 2 ...`: disciplines that the kernel puts there by itself have the handle 0.
fn parse_root(shown: &str) -> Root {
    let Some(line) = shown.lines().find(|line| line.split_whitespace().any(|word| word == "root")) else {
        return Root::Default;
    };
    let mut words = line.split_whitespace().skip(1);
    match (words.next(), words.next()) {
        (Some("htb"), Some(HANDLE)) => Root::Ours,
        (_, Some("0:")) => Root::Default,
        _ => Root::Foreign(line.trim().to_owned()),
    }
}

/// Removes ours from the interface, if it is there.
pub fn remove(interface: &str) -> io::Result<()> {
    // An interface that is gone took its discipline along.
    if !std::path::Path::new("/sys/class/net").join(interface).exists() || root(interface)? != Root::Ours {
        return Ok(());
    }
    run(&["qdisc", "del", "dev", interface, "root"]).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn disciplines_of_others_are_told_from_defaults_and_ours() {
        assert_eq!(parse_root("qdisc noqueue 0: dev lo root refcnt 2 \n"), Root::Default);
        assert_eq!(parse_root(""), Root::Default);
        assert_eq!(parse_root("qdisc htb b7c0: dev eth0 root refcnt 2 r2q 10 default 0x1\n"), Root::Ours);
        let foreign = "qdisc htb 1: dev eth0 root refcnt 2 r2q 10\nqdisc ingress ffff: dev eth0 parent ffff:fff1\n";
        assert_eq!(parse_root(foreign), Root::Foreign("qdisc htb 1: dev eth0 root refcnt 2 r2q 10".to_owned()));
    }
}
