//! A run killed at any moment loses at most the trial in progress, and the same command completes it. A full disk is
//! reported before any load.

use brunt_testkit::{Home, Random, Running, told};
use std::collections::BTreeMap;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use std::{fs, thread};

const PLAN: &str = "name = 'killed'\nrepeats = 6\n[load]\nconnections = 2\nduration = '150ms'\nwarmup = '0s'\n\
                    timeout = '2s'\n[[target]]\nname = 'echo'\nserve = { service = 'echo', model = 'epoll' }\n\
                    limits = { memory = '512MiB' }\n";

fn brunt(home: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_brunt"));
    command.current_dir(home).args(args).env("BRUNT_STATE_DIR", home.join("state"));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Existing result files with their contents.
fn results(home: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let trials = fs::read_dir(home.join("run/trials/target=echo")).into_iter().flatten().flatten();
    let result = |entry: fs::DirEntry| Some((entry.path(), fs::read(entry.path().join("result.json")).ok()?));
    trials.filter_map(result).collect()
}

/// Processes with this working directory, after killed ones have had time to exit.
fn running_in(home: &Path) -> Vec<PathBuf> {
    let processes = || fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
    let running = || processes().filter(|process| fs::read_link(process.join("cwd")).is_ok_and(|cwd| cwd == home));
    let until = Instant::now() + Duration::from_secs(60);
    while running().next().is_some() && Instant::now() < until {
        thread::sleep(Duration::from_millis(20));
    }
    running().collect()
}

/// Control groups created by these processes.
fn groups_of(pids: &[u32]) -> Vec<String> {
    let found = Command::new("find").args(["/sys/fs/cgroup", "-type", "d", "-name", "brunt-*"]).output().unwrap();
    let found = String::from_utf8(found.stdout).unwrap();
    let made = |line: &&str| {
        let name = line.rsplit('/').next().unwrap_or_default();
        let maker = name.split('-').nth(2).and_then(|pid| pid.parse().ok());
        maker.is_some_and(|pid: u32| pids.contains(&pid))
    };
    found.lines().filter(made).map(str::to_owned).collect()
}

#[test]
fn ten_kills_at_random_moments_lose_no_finished_trial_and_no_process() {
    let home = brunt_testkit::home();
    fs::write(home.join("plan.toml"), PLAN).unwrap();
    let mut random = Random::from_environment();
    let run = ["run", "plan.toml", "--out", "run", "--quiet"];
    let mut kept: BTreeMap<PathBuf, Vec<u8>> = BTreeMap::new();
    let mut pids = Vec::new();
    for _ in 0..10 {
        let mut running = Running::start(&mut brunt(&home, &run));
        pids.push(running.pid());
        thread::sleep(Duration::from_millis(random.below(900)));
        // Alone: what it started may go on.
        running.child().kill().unwrap();
        running.child().wait().unwrap();
        let now = results(&home);
        for (trial, result) in &kept {
            assert!(now.get(trial) == Some(result), "{} was lost or measured again", trial.display());
        }
        // The generator may outlive the run briefly and complete its trial.
        kept = now;
    }
    // On a loaded machine any verdict is possible, also that of a load without a reply, which is exit code 1; this test does
    // not check verdicts.
    let output = brunt(&home, &run).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() || stderr.starts_with("error: most requests failed in"), "{stderr}");
    let all = results(&home);
    for (trial, result) in &kept {
        assert!(all.get(trial) == Some(result), "{} was lost or measured again", trial.display());
    }
    let names: Vec<String> = all.keys().map(|path| path.file_name().unwrap().to_string_lossy().into_owned()).collect();
    assert_eq!(names, ["1", "2", "3", "4", "5", "6"]);
    for result in all.values() {
        let result: serde_json::Value = serde_json::from_slice(result).unwrap();
        assert!(result["requests"]["completed"].is_u64(), "{result}");
    }
    assert_eq!(running_in(&home), Vec::<PathBuf>::new());
    assert_eq!(groups_of(&pids), Vec::<String>::new());
}

/// A tmpfs with little room, unmounted on drop.
struct Tiny(Home);

impl Tiny {
    fn new() -> Option<Self> {
        let home = brunt_testkit::home();
        let mount = Command::new("mount").args(["-t", "tmpfs", "-o", "size=64k", "tmpfs"]).arg(home.path()).output();
        if !mount.is_ok_and(|mount| mount.status.success()) {
            println!("skipped: tmpfs cannot be mounted here (needs root)");
            return None;
        }
        Some(Self(home))
    }

    /// Fills the file system completely.
    fn fill(&self) {
        // Writes until the first error.
        let _ = fs::write(self.0.path().join("big"), vec![0; 1 << 20]);
    }
}

impl Drop for Tiny {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0.path()).status();
    }
}

#[test]
fn a_full_disk_is_reported_before_any_connection() {
    let Some(tiny) = Tiny::new() else { return };
    tiny.fill();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let url = format!("tcp://{}", listener.local_addr().unwrap());
    let out = tiny.0.path().join("run");
    let out = out.to_str().unwrap();
    let home = brunt_testkit::home();
    fs::write(home.path().join("plan.toml"), PLAN).unwrap();
    let json = format!("{out}.json");
    let trials: [&[&str]; 3] = [
        &["load", &url, "-d", "1s", "--out", out],
        &["load", &url, "-d", "1s", "--json", &json],
        &["run", "plan.toml", "--quiet", "--out", out],
    ];
    for args in trials {
        let (_, stderr) = told(&brunt(home.path(), args).output().unwrap(), 1);
        assert!(stderr.starts_with(&format!("error: cannot write to {out}")), "{args:?}: {stderr}");
        assert!(stderr.contains("No space left"), "{args:?}: {stderr}");
        assert_eq!(stderr.lines().count(), 1, "{args:?}: {stderr}");
    }
    assert!(listener.accept().is_err(), "a connection was made although nothing can be kept");
}

#[test]
fn a_disk_that_fills_up_while_a_run_goes_on_ends_it_with_a_clear_error() {
    let Some(tiny) = Tiny::new() else { return };
    let home = brunt_testkit::home();
    fs::write(home.path().join("plan.toml"), PLAN.replace("repeats = 6", "repeats = 500")).unwrap();
    let out = tiny.0.path().join("run");
    let output = brunt(home.path(), &["run", "plan.toml", "--quiet", "--out", out.to_str().unwrap()]).output().unwrap();
    let (_, stderr) = told(&output, 1);
    assert!(stderr.contains(out.to_str().unwrap()) && stderr.contains("No space left"), "{stderr}");
    assert_eq!(running_in(&home), Vec::<PathBuf>::new());
}
