//! Runs a command on a machine made noisy on purpose: `noise KIND [--seed N] [--limit SECONDS] -- COMMAND...`. Exits with the
//! status of the command, or 124 when the limit (default 600 s) has passed and the command was killed.
//!
//! | kind | what it does | as |
//! |---|---|---|
//! | none | nothing | |
//! | freeze | stops the command and all its descendants at once for 2 to 20 ms, several times a second | a hypervisor |
//! | busy | busy loops that take 20 to 80 % of a random core for 0.1 to 3 s | neighbours on the same cores |
//! | quota | 60 to 100 % of the CPU time of all cores, in periods of 10 ms, changed each second | a container's limit |
//! | cache | streams through memory on a random core, half of its time, for 0.1 to 3 s | neighbours on the same cache |
//! | all | all of them | |
//!
//! The seed determines the sequence of pauses, shares, cores and times. `freeze` and `quota` need root and control groups.
//!
//! Invariant: no noise outlives this process: its loops are its threads; a guard process thaws, kills and removes the control
//! groups, also when this process is killed.

mod cgroup;
mod load;
mod random;

use cgroup::Groups;
use random::Random;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitCode, ExitStatus};
use std::thread;
use std::time::{Duration, Instant};

const USAGE: &str = "usage: noise none|freeze|busy|quota|cache|all [--seed N] [--limit SECONDS] -- COMMAND...";
/// As of `timeout`.
const TIMED_OUT: u8 = 124;
/// Between SIGTERM and SIGKILL.
const GRACE: Duration = Duration::from_secs(5);

struct Arguments {
    freeze: bool,
    busy: bool,
    quota: bool,
    cache: bool,
    seed: u64,
    limit: Duration,
    command: Vec<String>,
}

impl Arguments {
    fn parse(mut args: impl Iterator<Item = String>) -> Result<Self, String> {
        let kind = args.next().ok_or(USAGE)?;
        if !["none", "freeze", "busy", "quota", "cache", "all"].contains(&kind.as_str()) {
            return Err(format!("'{kind}' is no kind of noise; {USAGE}"));
        }
        let is = |name| kind == name || kind == "all";
        let (mut seed, mut limit) = (1, 600);
        loop {
            let flag = args.next().ok_or(USAGE)?;
            let mut number = || {
                let value = args.next().ok_or(format!("{flag} needs a number"))?;
                value.parse::<u64>().map_err(|_| format!("{flag} '{value}' is not a whole number"))
            };
            match flag.as_str() {
                "--seed" => seed = number()?,
                "--limit" => limit = number()?,
                "--" => break,
                _ => return Err(format!("'{flag}' is unknown; {USAGE}")),
            }
        }
        let command: Vec<_> = args.collect();
        if command.is_empty() {
            return Err(USAGE.to_owned());
        }
        let (freeze, busy, quota, cache) = (is("freeze"), is("busy"), is("quota"), is("cache"));
        Ok(Self { freeze, busy, quota, cache, seed, limit: Duration::from_secs(limit), command })
    }
}

fn main() -> ExitCode {
    match Arguments::parse(std::env::args().skip(1)).and_then(|arguments| run(&arguments)) {
        Ok(Some(status)) => ExitCode::from(status.code().unwrap_or(128 + status.signal().unwrap_or(0)) as u8),
        Ok(None) => ExitCode::from(TIMED_OUT),
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::from(2)
        }
    }
}

/// The status of the command; `None` when the limit has passed.
fn run(arguments: &Arguments) -> Result<Option<ExitStatus>, String> {
    let groups = Groups::create(arguments.freeze, arguments.quota)?;
    let mut child = start(&arguments.command, &groups)?;
    let random = |stream| Random::new(arguments.seed, stream);
    let (mut pauses, mut shares) = (random(0), random(1));
    if arguments.busy {
        load::start(random(2), load::spin());
    }
    if arguments.cache {
        load::start(random(3), load::stream());
    }
    if let Some(quota) = groups.quota() {
        thread::spawn(move || {
            loop {
                // The group may be gone: the command has ended.
                let _ = quota.limit_to(shares.within(0.6, 1.0));
                thread::sleep(Duration::from_secs(1));
            }
        });
    }
    let end = Instant::now() + arguments.limit;
    let status = match groups.freezer() {
        Some(freezer) => loop {
            if let Some(status) = wait(&mut child, end, pauses.time(20, 400))? {
                break status;
            }
            freezer.freeze(pauses.time(2, 20)).map_err(|e| format!("cannot freeze: {e}"))?;
        },
        None => loop {
            if let Some(status) = wait(&mut child, end, Duration::from_secs(1))? {
                break status;
            }
        },
    };
    if status.is_none() {
        end_child(&mut child)?;
    }
    Ok(status)
}

/// Ends the command: SIGTERM, which lets it end its own children, then SIGKILL.
fn end_child(child: &mut Child) -> Result<(), String> {
    let _ = Command::new("sh").args(["-c", &format!("kill -TERM {}", child.id())]).status();
    if wait(child, Instant::now() + GRACE, GRACE)?.flatten().is_none() {
        let _ = child.kill();
        let _ = child.wait();
    }
    Ok(())
}

/// Starts the command within the groups.
fn start(command: &[String], groups: &Groups) -> Result<Child, String> {
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("{}exec \"$0\" \"$@\"", groups.enter_command())]).args(command);
    shell.spawn().map_err(|e| format!("cannot start sh: {e}"))
}

/// Waits for the command for this long, at most until `end`: `None` if it still runs then, `Some(None)` at the end.
fn wait(child: &mut Child, end: Instant, time: Duration) -> Result<Option<Option<ExitStatus>>, String> {
    let until = end.min(Instant::now() + time);
    loop {
        if let Some(status) = child.try_wait().map_err(|e| format!("cannot wait for the command: {e}"))? {
            return Ok(Some(Some(status)));
        }
        let now = Instant::now();
        if now >= end {
            return Ok(Some(None));
        }
        if now >= until {
            return Ok(None);
        }
        thread::sleep((until - now).min(Duration::from_millis(20)));
    }
}
