//! Checks before a run that each target can be started here: its folder, the programs it needs, its limits. A target that
//! cannot is skipped with a reason and a remedy.

use super::nginx;
use crate::plan::tester::EXTERNAL;
use crate::plan::{Plan, Target, TargetKind};
use crate::system::rlimits;
use brunt_results::program;
use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

/// A word of `needs` that is not a program: containers often forbid io_uring.
pub const IO_URING: &str = "io_uring";

/// Why targets (by name) and testers (by `tester=NAME`) cannot run here. `no_uring`: why io_uring is unavailable.
pub fn unavailable(plan: &Plan, base: &Path, no_uring: Option<&str>) -> BTreeMap<String, String> {
    let missing = |target: &Target| missing(target, base, no_uring).map(|why| (target.name.clone(), why));
    let testers = EXTERNAL.iter().filter(|tester| program::find(tester.name).is_none());
    let testers = testers.map(|tester| {
        (format!("tester={}", tester.name), format!("no {} on PATH: {}", tester.name, install_hint(tester.name)))
    });
    plan.targets.iter().filter_map(missing).chain(testers).collect()
}

/// Why a file of the load's requests cannot be read, in one line.
pub fn missing_file(plan: &Plan, base: &Path) -> Option<String> {
    let phases = plan.phases.iter().map(|phase| &phase.set);
    let set = phases.chain(plan.overrides.iter().map(|overridden| &overridden.set)).flatten();
    let set = set.filter(|(name, _)| ["request_file", "replay"].contains(&&name[..])).map(|(_, file)| file);
    let mut files = [&plan.load.request_file, &plan.load.replay].into_iter().flatten().chain(set);
    let file = files.find(|file| !normal(&base.join(file)).is_file())?;
    let place = normal(&base.join(file));
    Some(format!("the plan's file '{file}' does not exist (no {}): paths are relative to the plan", place.display()))
}

fn missing(target: &Target, base: &Path, no_uring: Option<&str>) -> Option<String> {
    if target.on.is_some() {
        return None;
    }
    let own_uring = matches!(&target.kind, TargetKind::Serve { model, .. } if model == "uring");
    if let Some(why) = no_uring.filter(|_| own_uring || target.needs.iter().any(|need| need == IO_URING)) {
        return Some(format!("needs io_uring, which is unavailable here: {why}"));
    }
    let dir = folder(target, base);
    if let Some(name) = &target.dir
        && !dir.is_dir()
    {
        let place = std::path::absolute(&dir).unwrap_or(dir);
        let place = place.display();
        return Some(format!("its folder '{name}' does not exist (no {place}): run this inside a clone that has it"));
    }
    for tool in target.needs.iter().filter(|need| *need != IO_URING) {
        if program::find(tool).is_none() {
            return Some(format!("needs '{tool}', which is not on PATH: {}", install_hint(tool)));
        }
    }
    if let Some(why) = rlimits::unsupported_reason(&target.limits) {
        return Some(why);
    }
    if matches!(target.kind, TargetKind::Nginx { .. }) && program::find(nginx::PROGRAM).is_none() {
        return Some(format!("no nginx on PATH: {}", install_hint(nginx::PROGRAM)));
    }
    let TargetKind::Command(words) = &target.kind else { return None };
    let program = &words[0];
    // A program that is built later or named by a placeholder cannot be checked yet.
    if !target.build.is_empty() || program.contains('{') {
        return None;
    }
    match program.contains('/') {
        true if !dir.join(program).is_file() => {
            Some(format!("its program {} does not exist", dir.join(program).display()))
        }
        false if program::find(program).is_none() => {
            Some(format!("its program '{program}' is not on PATH: {}", install_hint(program)))
        }
        _ => None,
    }
}

/// The folder that a target is built and started in.
pub fn folder(target: &Target, base: &Path) -> PathBuf {
    normal(&base.join(target.dir.as_deref().unwrap_or("")))
}

/// Lexically: `a/../b` resolves even if `a` does not exist.
pub fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if matches!(normal.components().next_back(), Some(Component::Normal(_))) => {
                normal.pop();
            }
            other => normal.push(other),
        }
    }
    if normal.as_os_str().is_empty() { PathBuf::from(".") } else { normal }
}

/// Resolves a program of a plan: with a slash a file of the target's folder, else one of `PATH`.
pub fn program(word: &str, dir: &Path) -> PathBuf {
    if word.contains('/') { dir.join(word) } else { PathBuf::from(word) }
}

fn install_hint(program: &str) -> &'static str {
    match program {
        "cargo" | "rustc" => "get it from https://rustup.rs",
        "go" => "get it from https://go.dev/dl",
        "node" | "npm" => "get it from https://nodejs.org",
        "nginx" => "apt install nginx-light, or add /usr/sbin to PATH",
        "wrk" => "apt install wrk",
        "ab" => "apt install apache2-utils",
        "hey" => "apt install hey",
        "h2load" => "apt install nghttp2-client",
        "fortio" => "go install fortio.org/fortio@latest, and add Go's bin folder (go env GOPATH) to PATH",
        "oha" => "cargo install oha, and add Cargo's bin folder (~/.cargo/bin) to PATH",
        "pipy" => "build it from https://github.com/flomesh-io/pipy and add it to PATH",
        _ => "install it, or add its folder to PATH",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::read;

    fn target(lines: &str) -> Target {
        let text = format!("name = 'p'\n[load]\nconnections = 1\n[[target]]\nname = 't'\n{lines}\n");
        read("p", &text).unwrap().targets.remove(0)
    }

    #[test]
    fn a_missing_requirement_is_named_with_a_remedy() {
        let denied = Some("EPERM from io_uring_setup");
        for (lines, no_uring, named) in [
            ("dir = '../peers/x'\ncommand = ['./x']", None, &["/nowhere/peers/x", "clone"][..]),
            ("needs = ['no-such-tool']\ncommand = ['sh']", None, &["'no-such-tool'", "PATH"]),
            ("command = ['no-such-server']", None, &["'no-such-server'"]),
            ("needs = ['sh']\ncommand = ['sh']", None, &[]),
            // Without io_uring only targets that need it are skipped.
            ("serve = { service = 'echo', model = 'uring' }", denied, &["EPERM"]),
            ("needs = ['io_uring']\ncommand = ['sh']", denied, &["EPERM"]),
            ("serve = { service = 'echo', model = 'epoll' }", denied, &[]),
        ] {
            let why = missing(&target(lines), Path::new("/nowhere/experiments"), no_uring);
            assert_eq!(why.is_some(), !named.is_empty(), "{lines}: {why:?}");
            let why = why.unwrap_or_default();
            assert!(named.iter().all(|word| why.contains(word)), "{lines}: {why}");
        }
    }

    #[test]
    fn folders_are_resolved_lexically() {
        let target = target("dir = '../peers/x'\ncommand = ['./x']");
        assert_eq!(folder(&target, Path::new("/a/experiments")), Path::new("/a/peers/x"));
        assert_eq!(folder(&target, Path::new("experiments")), Path::new("peers/x"));
        assert_eq!(folder(&target, Path::new(".")), Path::new("../peers/x"));
    }
}
