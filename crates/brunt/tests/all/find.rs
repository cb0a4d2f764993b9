//! `brunt find` against a real server: files, exit codes and results. The search itself is tested in `slo_search`.

use crate::shared::find::find;
use crate::shared::server::Server;
use brunt_testkit::{Running, Signal, assert_code, told, until, until_some};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// `brunt serve SERVICE`, killed at the end of the test.
fn server(service: &str) -> Server {
    let mut command = Command::new(env!("CARGO_BIN_EXE_brunt"));
    command.arg("serve").args(service.split_whitespace()).args(["--listen", "127.0.0.1:0", "--model", "epoll"]);
    Server::start(command)
}

fn url(server: &Server) -> String {
    format!("tcp://{}", server.address())
}

fn json(path: &Path) -> serde_json::Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

/// A short search at one rate; lower ones follow if the machine breaks it. Whether it holds is for simulated time
/// (`crates/brunt/tests/sim/find.rs`): exit code 0 or 3 here.
const EASY: &str = "--slo p50<900ms --from 50 --to 50 --slice 100ms --step 100ms --confirm 100ms --budget 10s";
const ANY: [i32; 2] = [0, 3];

#[test]
fn a_search_leaves_a_page_and_a_directory_for_each_rate() {
    let (home, server) = (brunt_testkit::home(), server("echo"));
    let output = find(home.path(), EASY, &url(&server), "-c 4 --size 1KiB").output().unwrap();
    assert_code(&output, &ANY);
    let [stdout, stderr] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    assert!(stdout.contains(": the highest rate at which p50<900ms holds; rates in the order of trying\n"), "{stdout}");
    assert!(stdout.contains("note: one start of the target"), "{stdout}");
    assert!(stderr.starts_with("50 requests/s; at most "), "{stderr}");
    let results = "results: runs/find, the page runs/find/report.html, a directory for each rate in runs/find/steps\n";
    assert!(stderr.ends_with(results), "{stderr}");
    let out = home.path().join("runs/find");
    let found = json(&out.join("find.json"));
    let steps = found["steps"].as_array().unwrap();
    assert!(steps.iter().any(|step| step["rate"] == 50.0), "{steps:?}");
    let mut slices = 0;
    for step in steps {
        let dir = home.path().join(step["dir"].as_str().unwrap());
        for file in ["result.json", "latency.hlog", "env.json"] {
            assert!(dir.join(file).exists(), "{} lacks {file}", dir.display());
        }
        let result = json(&dir.join("result.json"));
        assert_eq!(result["load"]["request_bytes"], 1024, "flags after the URL are those of brunt load");
        assert_eq!(result["requests"]["offered_rate"], step["rate"]);
        slices += step["slices"].as_u64().unwrap();
    }
    let lines = fs::read_to_string(out.join("slices.jsonl")).unwrap();
    assert_eq!(lines.lines().count() as u64, slices);
    let first: serde_json::Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
    assert_eq!((first["rate"].as_f64(), first["round"].as_u64()), (Some(50.0), Some(1)));
    let page = fs::read_to_string(out.join("report.html")).unwrap();
    assert!(page.contains("p50&lt;900ms") && page.contains("<svg role=\"img\""));
    assert!(fs::read_to_string(out.join("knee.svg")).unwrap().contains("p50 response time"));
    // The next search gets a directory of its own.
    let flags = format!("{EASY} --quiet --json --html found.html");
    assert_code(&find(home.path(), &flags, &url(&server), "-c 4").output().unwrap(), &ANY);
    assert!(home.path().join("runs/find-2/find.json").exists());
    let page = fs::read_to_string(home.path().join("found.html")).unwrap();
    assert_eq!(page, fs::read_to_string(home.path().join("runs/find-2/report.html")).unwrap());
    assert!(page.contains("<code>brunt find --slo p50&lt;900ms ") && page.contains("<th>verdict</th>"), "{page}");
}

#[test]
fn an_slo_that_never_holds_is_exit_code_3() {
    let (home, server) = (brunt_testkit::home(), server("echo"));
    let flags = "--slo p50<1ns --from 1k --to 1k --step 50ms --slice 50ms --quiet --out here";
    let (stdout, stderr) = told(&find(home.path(), flags, &url(&server), "-c 2").output().unwrap(), 3);
    let closing = stdout.lines().find(|line| line.contains("does not hold at any rate down to 62.5"));
    assert!(closing.is_some() || stdout.contains("\nclient-limited:"), "{stdout}");
    assert_eq!(stderr, "");
    assert!(home.path().join("here/steps/01-rate=1k/result.json").exists(), "{stdout}");
    // A second search in the same directory is refused.
    let (_, stderr) = told(&find(home.path(), flags, &url(&server), "-c 2").output().unwrap(), 2);
    assert!(stderr.contains("here holds the loads of another search"), "{stderr}");
}

#[test]
fn time_that_is_over_leaves_the_limit_open() {
    let (home, server) = (brunt_testkit::home(), server("echo"));
    let flags = "--slo p50<900ms --from 200 --budget 1ms --json --quiet";
    let (stdout, _) = told(&find(home.path(), flags, &url(&server), "-c 4").output().unwrap(), 3);
    let found: serde_json::Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(found["end"]["kind"], "undecided");
    assert!(found["doubts"][0].as_str().unwrap().contains("the time was over after 1ms"), "{found:#}");
}

#[test]
fn a_server_that_ends_ends_the_search_with_its_name() {
    let (home, server) = (brunt_testkit::home(), server("echo"));
    let flags = "--slo p50<900ms --from 200 --to 200 --confirm 60s --budget 60s --out here";
    let search = Running::start(&mut find(home.path(), flags, &url(&server), "-c 4"));
    until("a slice is made", || !fs::read(home.path().join("here/slices.jsonl")).unwrap_or_default().is_empty());
    server.signal(Signal::KILL);
    let (stdout, stderr) = told(&search.output(), 1);
    let expected = format!("error: the server, process {}, has ended", server.pid());
    assert!(stdout.is_empty() && stderr.contains(&expected), "{stderr}");
}

#[test]
fn a_load_whose_requests_all_fail_ends_the_search() {
    let (home, server) = (brunt_testkit::home(), server("http --service httpbin"));
    let url = format!("http://{}/status/404", server.address());
    let (stdout, stderr) = told(&find(home.path(), "--slo p99<90ms", &url, "-c 4").output().unwrap(), 1);
    let error = stderr.lines().last().unwrap();
    assert!(error.starts_with("error: every request of the load of 1k requests/s failed ("), "{stderr}");
    assert!(error.contains("HTTP status 404"), "{stderr}");
    assert_eq!(stdout, "");
    assert_eq!(fs::read_to_string(home.path().join("runs/find/slices.jsonl")).unwrap().lines().count(), 1);
}

/// Whether it is the directory of a load.
fn is_step(entry: &std::io::Result<fs::DirEntry>) -> bool {
    entry.as_ref().unwrap().path().is_dir()
}

#[test]
fn a_failing_load_ends_the_search_with_its_reason() {
    let home = brunt_testkit::home();
    let (_, stderr) = told(&find(home.path(), "--slo p99<6ms --quiet", "tcp://127.0.0.1:9", "").output().unwrap(), 1);
    assert!(stderr.starts_with("error: nothing listens on 127.0.0.1:9 (connection refused)"), "{stderr}");
    assert_eq!(stderr.lines().count(), 1);
    let typing =
        find(home.path(), "--slo p99<6ms --quiet", "tcp://127.0.0.1:9", "-c 1 --conections 5").output().unwrap();
    let (_, stderr) = told(&typing, 2);
    assert!(stderr.starts_with("error: brunt load: unexpected argument '--conections'"), "{stderr}");
    // Wrong usage leaves nothing behind.
    let home = brunt_testkit::home();
    for (url, flags) in
        [("tcp://127.0.0.1:9", "-c 1 --conections 5"), ("tpc://127.0.0.1:9", ""), ("tcp://127.0.0.1:9", "-c 0")]
    {
        let (_, stderr) = told(&find(home.path(), "--slo p99<6ms", url, flags).output().unwrap(), 2);
        assert!(stderr.starts_with("error: brunt load: ") && stderr.lines().count() == 1, "{stderr}");
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 0, "{url} {flags}");
    }
}

/// A folder with a plan of two targets and two loads.
fn plan(load: &str, targets: [(&str, &str); 2]) -> brunt_testkit::Home {
    let home = brunt_testkit::home();
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
fn a_target_of_a_plan_is_started_once() {
    let home = plan("size = '1KiB'", [("a", "service = 'echo'"), ("b", "service = 'echo'")]);
    let slo = EASY;
    let flags = format!("{slo} --target b --only connections=4");
    let output = find_planned(home.path(), &flags).output().unwrap();
    assert_code(&output, &ANY);
    let stdout = String::from_utf8(output.stdout).unwrap();
    assert!(stdout.starts_with("scene, target=b,connections=4: the highest rate at which p50<900ms holds"), "{stdout}");
    let steps: Vec<_> = fs::read_dir(home.path().join("runs/find/steps")).unwrap().filter(is_step).collect();
    assert!(!steps.is_empty(), "{stdout}");
    for step in &steps {
        let result = json(&step.as_ref().unwrap().path().join("result.json"));
        assert_eq!((&result["load"]["request_bytes"], &result["load"]["connections"]), (&1024.into(), &4.into()));
    }
    assert!(home.path().join("runs/find/target/target.log").exists());
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

#[test]
fn connections_beyond_the_limit_of_files_are_loaded_by_whole_runs() {
    let home = plan("size = '1KiB'", [("a", "service = 'echo'"), ("b", "service = 'echo'")]);
    let flags = format!("{EASY} --target b --only connections=4");
    let mut shell = Command::new("sh");
    shell.args(["-c", "ulimit -n 150; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_brunt"), "find", "--plan", "plan.toml"]);
    shell.current_dir(home.path()).env("BRUNT_STATE_DIR", "state").args(flags.split_whitespace());
    assert_code(&shell.stdin(Stdio::null()).output().unwrap(), &ANY);
    assert!(home.path().join("runs/find/steps/01-rate=50/result.json").exists());
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
    let home = plan("path = '/'", [("a", "service = 'http'"), ("b", "service = 'http'")]);
    let place = home.path().join("fortio");
    brunt_testkit::program(&place, FORTIO);
    let path = format!("{}:/usr/bin:/bin", home.path().display());
    let find = |slo: &str| {
        let flags = "--target a --only connections=4 --tester fortio --step 50ms --confirm 100ms --quiet";
        find_planned(home.path(), &format!("--slo {slo} {flags}")).env("PATH", &path).output().unwrap()
    };
    let (stdout, _) = told(&find("p99<6ms"), 0);
    assert!(
        stdout.contains("\nfortio starts its clock when it sends: all times, those of the SLO too, are service"),
        "{stdout}"
    );
    let found = json(&home.path().join("runs/find/find.json"));
    let (rate, breaks) = (found["end"]["rate"].as_f64().unwrap(), found["end"]["breaks"].as_f64().unwrap());
    assert!(rate <= 3001.0 && breaks > 3000.0 && breaks < 1.05 * rate, "{found:#}");
    let (_, stderr) = told(&find("p99.9<6ms"), 1);
    assert!(stderr.contains("fortio did not report the figure of p99.9<6ms: use another, or tester brunt"), "{stderr}");
}

#[test]
fn sigint_stops_the_search_and_its_target() {
    let home = plan("size = '1KiB'", [("a", "service = 'echo'"), ("b", "service = 'echo'")]);
    let flags = "--slo p50<1s --from 100 --to 100 --confirm 60s --target a --only connections=2 --out here";
    let search = Running::start(&mut find_planned(home.path(), flags));
    let group = until_some("the target is started", || {
        let page = fs::read(home.path().join("here/steps/running.json")).unwrap_or_default();
        let page: serde_json::Value = serde_json::from_slice(&page).unwrap_or_default();
        page["groups"][0]["group"].as_u64()
    });
    search.signal(Signal::INT);
    let (_, stderr) = told(&search.output(), 1);
    assert!(stderr.contains("interrupted; the loads so far are in here"), "{stderr}");
    let stat = fs::read_to_string(format!("/proc/{group}/stat")).unwrap_or_default();
    assert!(stat.is_empty() || stat.contains(") Z "), "the target still runs: {stat}");
}
