//! Servers in control groups: those that limit them, and those that are named as parts of a service.

use crate::service::{assert_near, backend, loaded, parts};
use crate::shared::target::{Target, json, load, number};
use brunt_meter::cgroup::{Version, hierarchies};
use brunt_testkit::{assert_code, text};
use serde_json::Value;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

/// A control group of a test; removed at the end, once its processes have ended.
struct Group(PathBuf);

impl Group {
    /// With a limit, as the file of each version and its text; `None` where no such group can be made.
    fn limited(controller: &str, one: [&str; 2], two: [&str; 2]) -> Option<Self> {
        let groups = hierarchies().into_iter().filter(|hierarchy| hierarchy.may_have(controller));
        let limited = groups.filter_map(|hierarchy| {
            let group = Self::below(hierarchy.own)?;
            let [file, text] = if hierarchy.version == Version::One { one } else { two };
            // The file is there if the controller is.
            File::options().write(true).open(group.0.join(file)).ok()?.write_all(text.as_bytes()).ok()?;
            Some(group)
        });
        let group = limited.into_iter().next();
        if group.is_none() {
            println!("skipped: no control group of {controller} can be made here");
        }
        group
    }

    fn plain() -> Option<Self> {
        let group = hierarchies().into_iter().find_map(|hierarchy| Self::below(hierarchy.own));
        if group.is_none() {
            println!("skipped: no control group can be made here");
        }
        group
    }

    fn below(parent: PathBuf) -> Option<Self> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let group = Self(parent.join(format!("brunt-test-{}-{number}.service", std::process::id())));
        fs::create_dir(&group.0).ok().map(|()| group)
    }

    fn takes(&self, pid: u32) {
        fs::write(self.0.join("cgroup.procs"), pid.to_string()).unwrap();
    }

    fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let empty = || fs::read_to_string(self.0.join("cgroup.procs")).is_ok_and(|text| text.is_empty());
        brunt_testkit::until("its processes have ended", empty);
        let _ = fs::remove_dir(&self.0);
    }
}

#[test]
fn a_quota_that_stops_the_server_is_the_verdict() {
    // A hundredth of a core.
    let Some(group) = Group::limited("cpu", ["cpu.cfs_quota_us", "1000"], ["cpu.max", "1000 100000"]) else { return };
    let server = backend();
    group.takes(server.pid());
    let url = format!("tcp://{}", server.address());
    // Ten times what it may compute.
    let output = load(&url, "-c 4 -R 1k -d 1s --quiet").output().unwrap();
    assert_code(&output, &[3]);
    let page = text(&output);
    assert!(page.contains("\n  quota       0.01 cores of ") && page.contains(", used up in "), "{page}");
    let home = brunt_testkit::home();
    let out = home.path().join("out");
    let flags = format!("-c 4 -d 2s --warmup 0s --quiet --json - --out {}", out.display());
    let result = json(&load(&url, &flags).output().unwrap());
    let series = fs::read_to_string(out.join("series.jsonl")).unwrap();
    let seconds = series.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let percent: Vec<f64> = seconds.filter_map(|second| second["server_throttled_percent"].as_f64()).collect();
    assert!(percent.iter().any(|percent| *percent > 0.0 && *percent <= 100.0), "{percent:?}");
    let kinds = result["verdict"]["kinds"].to_string();
    assert!(kinds.contains("throttled"), "{kinds}");
    assert!(result["verdict"]["remedy"].to_string().contains("raise the quota"), "{:#}", result["verdict"]);
    let stopped = ["throttled_periods", "periods"].map(|key| number(&result, &format!("server.throttled.{key}")));
    assert!(stopped[0] >= 1.0 && stopped[0] <= stopped[1] && stopped[1] <= 40.0, "{stopped:?}");
    let doctor = Command::new(env!("CARGO_BIN_EXE_brunt")).args(["doctor", "--server", &url]).output().unwrap();
    assert_code(&doctor, &[0]);
    let said = text(&doctor);
    assert!(said.contains("warn server's CPU quota") && said.contains("0.01 cores of "), "{said}");
    drop(server);
    let free = backend();
    let result = json(&load(&format!("tcp://{}", free.address()), "-n 100 -c 1 --quiet --json -").output().unwrap());
    assert!(!result["verdict"]["kinds"].to_string().contains("throttled"), "{:#}", result["verdict"]);
}

#[test]
fn a_memory_limit_is_told_with_what_is_used_of_it() {
    let limit = (256 << 20).to_string();
    let (one, two) = (["memory.limit_in_bytes", &limit], ["memory.max", &limit]);
    let Some(group) = Group::limited("memory", one, two) else { return };
    let server = backend();
    group.takes(server.pid());
    let url = format!("tcp://{}", server.address());
    let page = text(&load(&url, "-n 10 -c 1 --quiet --allow-untrusted").output().unwrap());
    assert!(page.contains(&format!("\n  memory      limit 256 MiB of {}, ", group.path())), "{page}");
    let pid = server.pid().to_string();
    let doctor = Command::new(env!("CARGO_BIN_EXE_brunt")).args(["doctor", "--server", &pid]).output().unwrap();
    let said = text(&doctor);
    assert!(said.contains("server's memory limit") && said.contains("memory.max 256 MiB of "), "{said}");
}

#[test]
fn a_group_can_be_the_server_or_a_part_of_the_service() {
    let Some(group) = Group::plain() else { return };
    let (server, other) = (Target::start(), backend());
    group.takes(other.pid());
    let name = group.path().rsplit('/').next().unwrap().to_owned();
    // As systemd names its groups.
    for flags in [format!("--also-cgroup {}", group.path()), format!("--also-unit {name}")] {
        let (_, result) = loaded(&server.url(), &flags, &[]);
        let part = &result["server"]["upstreams"][0];
        assert_eq!((part["name"].as_str().unwrap(), number(part, "pid")), (&*name, f64::from(other.pid())), "{part}");
        assert_eq!(parts(&result).len(), 1);
    }
    let (truth, result) =
        loaded(&format!("tcp://{}", other.address()), &format!("--server-cgroup {}", group.path()), &[other.pid()]);
    assert_near(number(&result, "server.cpu_us_per_request"), truth[0]);
    refused(&server.url(), &name, &format!("--also-cgroup {}/none", group.path()), "there is no control group ");
    refused(&server.url(), &name, "--also-unit brunt-none", "no control group is that of a unit brunt-none.service");
    refused(&server.url(), &name, "--server-cgroup /none --server-pid 1", "cannot be used with");
    let own = format!("tcp://{}", other.address());
    refused(&own, &name, &format!("--also-cgroup {}", group.path()), "is the server itself");
}

/// A load with these flags is refused, and the reason names what was given.
#[track_caller]
fn refused(url: &str, group: &str, flags: &str, said: &str) {
    let output = load(url, &format!("-n 1 {flags}")).output().unwrap();
    assert!(!output.status.success() && text(&output).contains(said), "{group}: {flags}: {}", text(&output));
}

#[test]
fn a_server_that_is_not_there_has_no_limits() {
    for (server, said) in [("999999999", "process 999999999 does not exist"), ("127.0.0.1:1", "listens on 127.0.0.1:1")]
    {
        let doctor = Command::new(env!("CARGO_BIN_EXE_brunt")).args(["doctor", "--server", server]).output().unwrap();
        assert_code(&doctor, &[1]);
        assert!(text(&doctor).contains(said), "{}", text(&doctor));
    }
    let own = std::process::id().to_string();
    let doctor =
        Command::new(env!("CARGO_BIN_EXE_brunt")).args(["doctor", "--json", "--server", &own]).output().unwrap();
    let found: Value = serde_json::from_slice(&doctor.stdout).unwrap();
    let subjects: Vec<&str> = found.as_array().unwrap().iter().map(|one| one["subject"].as_str().unwrap()).collect();
    assert_eq!(subjects, ["server", "server's cores", "server's CPU quota", "server's memory limit"]);
}
