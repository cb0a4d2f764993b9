//! `brunt find` against a real server: files, exit codes and results. The search itself is tested in `slo_search`.

mod common;

use common::told;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use std::{fs, thread};

/// A brunt server, killed on drop.
struct Server {
    child: Child,
    address: String,
}

impl Server {
    fn start(service: &str) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_brunt"))
            .args(["serve"])
            .args(service.split_whitespace())
            .args(["--listen", "127.0.0.1:0", "--model", "epoll"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.split_once(" on ").and_then(|(_, rest)| rest.split_once(' ')).map(|(address, _)| address);
        let address = address.unwrap_or_else(|| panic!("{line}")).to_owned();
        Self { child, address }
    }

    fn url(&self) -> String {
        format!("tcp://{}", self.address)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn find(home: &Path, flags: &str, url: &str, load: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_brunt"));
    command
        .current_dir(home)
        .env("BRUNT_STATE_DIR", "state")
        .arg("find")
        .args(flags.split_whitespace())
        .arg(url)
        .args(load.split_whitespace());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

#[test]
fn an_slo_that_holds_up_to_the_cap_is_confirmed_there() {
    let (home, server) = (tempfile::tempdir().unwrap(), Server::start("echo"));
    // Few requests and a generous SLO, which a busy machine meets too.
    let flags = "--slo p50<900ms --from 20 --to 50 --step 600ms --confirm 1s";
    let (stdout, stderr) = told(&find(home.path(), flags, &server.url(), "-c 4 --size 1KiB").output().unwrap(), 0);
    assert!(stdout.contains("p50<900ms holds at 50.0 requests/s, the highest rate that was to be tried"), "{stdout}");
    assert!(stdout.contains("holds, confirmed"), "{stdout}");
    assert!(stderr.contains("50 requests/s, to confirm it"), "{stderr}");
    let found: serde_json::Value =
        serde_json::from_slice(&fs::read(home.path().join("runs/find/find.json")).unwrap()).unwrap();
    assert_eq!(found["end"]["kind"], "holds-at-most");
    let steps = found["steps"].as_array().unwrap();
    // 20, 40, 50 and the confirmation at 50; a step disturbed by other load is repeated.
    assert!(steps.len() >= 4, "{found:#}");
    for step in steps {
        let dir = home.path().join(step["dir"].as_str().unwrap());
        for file in ["result.json", "latency.hlog", "series.jsonl", "env.json", "load.txt"] {
            assert!(dir.join(file).exists(), "{} lacks {file}", dir.display());
        }
        let result: serde_json::Value = serde_json::from_slice(&fs::read(dir.join("result.json")).unwrap()).unwrap();
        assert_eq!(result["load"]["request_bytes"], 1024, "flags after the URL go to brunt load");
        assert_eq!(result["requests"]["offered_rate"], step["rate"]);
    }
    // The next search gets a directory of its own.
    told(&find(home.path(), &format!("{flags} --quiet --json"), &server.url(), "-c 4").output().unwrap(), 0);
    assert!(home.path().join("runs/find-2/find.json").exists());
}

/// Requests per second that four connections reach in a closed loop at this moment.
fn closed_loop(url: &str) -> f64 {
    let home = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_brunt"))
        .current_dir(home.path())
        .args(["load", url, "-c", "4", "-d", "1s", "--out", "here", "--quiet", "--allow-untrusted"])
        .output()
        .unwrap();
    told(&output, 0);
    let result = fs::read(home.path().join("here/result.json")).unwrap();
    let result: serde_json::Value = serde_json::from_slice(&result).unwrap();
    result["requests"]["rate"].as_f64().unwrap()
}

/// By Little's law four connections with replies after 20 ms carry at most 200 requests a second. Searches are compared with
/// the closed-loop throughput of the same connections just before and after; a stall of the machine during one search may
/// hide the knee from it, so three are made.
#[test]
fn a_knee_is_found_where_littles_law_puts_it() {
    let server = Server::start("http --service httpbin");
    let url = format!("http://{}/delay/0.02", server.address);
    let flags = "--slo p50<50ms --from 50 --precision 10% --step 500ms --confirm 1s --json --quiet";
    let search = |_| {
        let home = tempfile::tempdir().unwrap();
        let before = closed_loop(&url);
        let output = find(home.path(), flags, &url, "-c 4").output().unwrap();
        let after = closed_loop(&url);
        // The generator may be late where the service breaks: exit code 3, with the same knee.
        let (stdout, stderr) = told(&output, if output.status.code() == Some(3) { 3 } else { 0 });
        assert_eq!(stderr, "");
        let found: serde_json::Value = serde_json::from_str(&stdout).unwrap();
        let end = &found["end"];
        let (rate, breaks) = (end["rate"].as_f64(), end["breaks"].as_f64().or(end["limited"].as_f64()));
        let (low, high) = (before.min(after), before.max(after));
        println!("{end}, closed loop {low:.1} to {high:.1}");
        // At a rate r the queue of the confirming second delays its median by (r - 200) / 400 s: 212/s exceed the SLO.
        assert!(rate.is_none_or(|rate| rate <= 215.0) && high <= 201.0, "{high} {found:#}");
        rate.is_some_and(|rate| rate >= 0.75 * low)
            && breaks.is_some_and(|breaks| breaks >= 0.8 * low && Some(breaks) > rate && breaks <= 1.3 * high)
    };
    assert!((0..3).any(search), "no search found the knee");
}

#[test]
fn an_slo_that_never_holds_is_exit_code_3() {
    let (home, server) = (tempfile::tempdir().unwrap(), Server::start("echo"));
    // Long enough for replies on a busy machine: without any, the search ends with exit code 1.
    let flags = "--slo p50<1ns --from 1k --to 1k --step 3s --quiet --out here";
    let (stdout, stderr) = told(&find(home.path(), flags, &server.url(), "-c 2").output().unwrap(), 3);
    let last = stdout.lines().last().unwrap();
    assert!(last.contains("does not hold at any rate down to") || last.starts_with("client-limited:"), "{stdout}");
    assert_eq!(stderr, "");
    assert!(home.path().join("here/steps/01-rate=1k/result.json").exists());
    // A second search in the same directory is refused.
    let (_, stderr) = told(&find(home.path(), flags, &server.url(), "-c 2").output().unwrap(), 2);
    assert!(stderr.contains("here holds the loads of another search"), "{stderr}");
}

#[test]
fn a_load_whose_requests_all_fail_ends_the_search() {
    let (home, server) = (tempfile::tempdir().unwrap(), Server::start("http --service httpbin"));
    let url = format!("http://{}/status/404", server.address);
    let (stdout, stderr) = told(&find(home.path(), "--slo p99<90ms --step 3s", &url, "-c 4").output().unwrap(), 1);
    let error = stderr.lines().last().unwrap();
    assert!(error.starts_with("error: every request of the load of 1k requests/s failed ("), "{stderr}");
    assert!(error.contains("HTTP status 404"), "{stderr}");
    assert_eq!(stdout, "");
    assert_eq!(fs::read_dir(home.path().join("runs/find/steps")).unwrap().filter(is_step).count(), 1);
}

/// Whether it is the directory of a load.
fn is_step(entry: &std::io::Result<fs::DirEntry>) -> bool {
    entry.as_ref().unwrap().path().is_dir()
}

#[test]
fn a_failing_load_ends_the_search_with_its_reason() {
    let home = tempfile::tempdir().unwrap();
    let (_, stderr) = told(&find(home.path(), "--slo p99<6ms --quiet", "tcp://127.0.0.1:9", "").output().unwrap(), 1);
    assert!(stderr.starts_with("error: the load of 1k requests/s ended with status 1: "), "{stderr}");
    assert_eq!(stderr.lines().count(), 1);
    let typing =
        find(home.path(), "--slo p99<6ms --quiet", "tcp://127.0.0.1:9", "-c 1 --conections 5").output().unwrap();
    let (_, stderr) = told(&typing, 2);
    assert!(stderr.starts_with("error: brunt load: unexpected argument '--conections'"), "{stderr}");
    // Wrong usage leaves nothing behind.
    let home = tempfile::tempdir().unwrap();
    for (url, flags) in
        [("tcp://127.0.0.1:9", "-c 1 --conections 5"), ("tpc://127.0.0.1:9", ""), ("tcp://127.0.0.1:9", "-c 0")]
    {
        let (_, stderr) = told(&find(home.path(), "--slo p99<6ms", url, flags).output().unwrap(), 2);
        assert!(stderr.starts_with("error: brunt load: ") && stderr.lines().count() == 1, "{stderr}");
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 0, "{url} {flags}");
    }
}

/// A folder with a plan of two targets and two loads.
fn plan(load: &str, targets: [(&str, &str); 2]) -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    let mut plan =
        format!("name = 'scene'\n[load]\nwarmup = '0s'\n{load}\n[sweep]\nconnections = [2, 4]\nrate = ['max', '5k']\n");
    for (name, serve) in targets {
        plan += &format!("[[target]]\nname = '{name}'\nserve = {{ {serve}, model = 'epoll' }}\n");
    }
    fs::write(home.path().join("plan.toml"), plan).unwrap();
    home
}

fn find_planned(home: &Path, flags: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_brunt"));
    command.current_dir(home).env("BRUNT_STATE_DIR", "state").args(["find", "--plan", "plan.toml"]);
    command.args(flags.split_whitespace()).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

#[test]
fn a_target_of_a_plan_is_started_for_each_load() {
    let home = plan("size = '1KiB'", [("a", "service = 'echo'"), ("b", "service = 'echo'")]);
    let slo = "--slo p50<900ms --from 20 --to 40 --step 600ms --confirm 1s";
    let flags = format!("{slo} --target b --only connections=4");
    let (stdout, _) = told(&find_planned(home.path(), &flags).output().unwrap(), 0);
    assert!(stdout.starts_with("scene, target=b,connections=4: the highest rate at which p50<900ms holds"), "{stdout}");
    assert!(stdout.contains("holds at 40.0 requests/s") && stdout.contains("holds, confirmed"), "{stdout}");
    let steps: Vec<_> = fs::read_dir(home.path().join("runs/find/steps")).unwrap().filter(is_step).collect();
    assert!(steps.len() >= 3);
    let mut pids = std::collections::BTreeSet::new();
    for step in &steps {
        let result = fs::read(step.as_ref().unwrap().path().join("result.json")).unwrap();
        let result: serde_json::Value = serde_json::from_slice(&result).unwrap();
        assert_eq!((&result["load"]["request_bytes"], &result["load"]["connections"]), (&1024.into(), &4.into()));
        pids.insert(result["server"]["pid"].as_u64().unwrap());
    }
    assert_eq!(pids.len(), steps.len());
    // Refusals write nothing.
    for (flags, error) in [
        ("--target c", "--target 'c' is not in the plan; did you mean 'a'?"),
        ("--target b", "scene has 2 loads for this target: select one with --only, such as --only connections=2"),
        ("--target b --tester foo", "--tester: 'foo'"),
        ("--target b tcp://127.0.0.1:9", "the argument '--plan <PLAN>' cannot be used with"),
    ] {
        let (_, stderr) = told(&find_planned(home.path(), &format!("{slo} {flags}")).output().unwrap(), 2);
        assert!(stderr.starts_with(&format!("error: {error}")), "{flags}: {stderr}");
    }
    let (_, stderr) = told(&find_planned(home.path(), &format!("{flags} --tester wrk")).output().unwrap(), 1);
    assert!(stderr.contains("nothing can be run here"), "{stderr}");
    assert!(!home.path().join("runs/find-2").exists());
}

/// A tester that answers every request, above 3,000 a second in 20 ms, in the format of fortio.
const FORTIO: &str = r#"#!/bin/bash
while [ $# -gt 0 ]; do case $1 in -qps) qps=${2%.*};; -t) t=${2%ms};; esac; shift; done
n=$((qps * t / 1000)); s=0.001; [ $qps -gt 3000 ] && s=0.02
p() { printf '{"Percentile":%s,"Value":%s}' $1 $s; }
printf '{"ActualDuration":%s,"RetCodes":{"200":%s},"SocketCount":4,' $((t * 1000000)) $n
printf '"DurationHistogram":{"Count":%s,"Max":%s,"Sum":1,"Avg":%s,' $n $s $s
printf '"Percentiles":[%s,%s,%s]}}' $(p 50) $(p 90) $(p 99)
"#;

#[test]
fn any_tester_that_holds_a_rate_finds_it() {
    use std::os::unix::fs::PermissionsExt;
    let home = plan("path = '/'", [("a", "service = 'http'"), ("b", "service = 'http'")]);
    let place = home.path().join("fortio");
    fs::write(&place, FORTIO).unwrap();
    fs::set_permissions(&place, fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:/usr/bin:/bin", home.path().display());
    let find = |slo: &str| {
        let flags = "--target a --only connections=4 --tester fortio --step 50ms --confirm 60ms --quiet";
        find_planned(home.path(), &format!("--slo {slo} {flags}")).env("PATH", &path).output().unwrap()
    };
    let (stdout, _) = told(&find("p99<6ms"), 0);
    assert!(
        stdout.contains("\nfortio starts its clock when it sends: all times, those of the SLO too, are service"),
        "{stdout}"
    );
    let found: serde_json::Value =
        serde_json::from_slice(&fs::read(home.path().join("runs/find/find.json")).unwrap()).unwrap();
    let (rate, breaks) = (found["end"]["rate"].as_f64().unwrap(), found["end"]["breaks"].as_f64().unwrap());
    assert!(rate <= 3001.0 && breaks > 3000.0 && breaks < 1.05 * rate, "{found:#}");
    let (_, stderr) = told(&find("p99.9<6ms"), 1);
    assert!(stderr.contains("fortio did not report the figure of p99.9<6ms: use another, or tester brunt"), "{stderr}");
}

#[test]
fn sigint_stops_the_running_load() {
    let (home, server) = (tempfile::tempdir().unwrap(), Server::start("echo"));
    let search = find(home.path(), "--slo p50<1s --step 30s --out here", &server.url(), "-c 1").spawn().unwrap();
    let since = Instant::now();
    let groups = loop {
        let page = fs::read(home.path().join("here/steps/running.json")).unwrap_or_default();
        let page: serde_json::Value = serde_json::from_slice(&page).unwrap_or_default();
        if let Some(group) = page["groups"][0]["group"].as_u64() {
            break group;
        }
        assert!(since.elapsed() < Duration::from_secs(60), "no load was started");
        thread::sleep(Duration::from_millis(5));
    };
    assert!(Command::new("sh").args(["-c", &format!("kill -INT {}", search.id())]).status().unwrap().success());
    let (_, stderr) = told(&search.wait_with_output().unwrap(), 1);
    assert!(stderr.contains("interrupted; the loads so far are in here"), "{stderr}");
    let stat = fs::read_to_string(format!("/proc/{groups}/stat")).unwrap_or_default();
    assert!(stat.is_empty() || stat.contains(") Z "), "the load still runs: {stat}");
}
