//! `brunt list` and the index filled by `brunt run`, on a plan whose tester is a script.

use brunt_results::{RunResult, directory::Directory, env::Env};
use brunt_testkit::{Running, told, until};
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

const PLAN: &str = "name = 'scene'\nrepeats = 2\n[load]\nconnections = 2\nduration = '50ms'\nwarmup = '0s'\n\
    [[target]]\nname = 'echo'\nserve = { service = 'echo', model = 'epoll' }\n";
const RUN: [&str; 5] = ["run", "plan.toml", "--quiet", "--tester", "sh"];

fn command(home: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_brunt"));
    command.current_dir(home).env("BRUNT_STATE_DIR", home.join("state")).args(args);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn brunt(home: &Path, args: &[&str]) -> Output {
    command(home, args).output().unwrap()
}

/// A plan and a tester script. With `waits`, every trial but the first waits for a file `go`.
fn scene(waits: bool) -> brunt_testkit::Home {
    let home = brunt_testkit::home();
    fs::write(home.path().join("plan.toml"), PLAN).unwrap();
    let mut result = RunResult::new("script");
    result.requests.rate = 123_456.0;
    result.requests.completed = 10_000;
    result.latency.response.count = 10_000;
    result.latency.response.p99_us = Some(2_345.0);
    let directory = Directory::create(home.path().join("made")).unwrap();
    directory.write_env(&Env::default()).unwrap();
    directory.write_result(&result).unwrap();
    let wait =
        if waits { "if [ -e first ]; then while [ ! -e go ]; do sleep 0.05; done; fi\ntouch first\n" } else { "" };
    let script =
        format!("while [ $# -gt 0 ]; do case $1 in --out) out=$2;; esac; shift; done\n{wait}cp made/* $out/\n");
    fs::write(home.path().join("load"), script).unwrap();
    home
}

/// Trials of all verdicts, summed: on a busy machine some are disturbed.
fn judged(text: &str) -> u32 {
    let words: Vec<&str> = text.split([' ', ',']).filter(|word| !word.is_empty()).collect();
    let named = words.windows(2).filter(|two| ["ok", "disturbed"].contains(&two[1]));
    named.filter_map(|two| two[0].parse::<u32>().ok()).sum()
}

#[test]
fn a_run_is_listed_when_it_is_done_and_its_trials_with_their_figures() {
    let home = scene(false);
    told(&brunt(home.path(), &RUN), 0);
    let (stdout, stderr) = told(&brunt(home.path(), &["list"]), 0);
    let line = stdout.lines().nth(1).unwrap();
    assert!(line.contains(" UTC  scene  echo") && line.ends_with("  runs/scene"), "{stdout}");
    assert_eq!(judged(line), 2, "{stdout}");
    assert_eq!((stdout.lines().count(), stderr.as_str()), (2, ""));
    let args = ["list", "--trials", "--where", "p99<6ms,rate>100k", "--only", "connections=2"];
    let (stdout, _) = told(&brunt(home.path(), &args), 0);
    assert_eq!(stdout.lines().count(), 3, "{stdout}");
    assert!(stdout.contains("123.5") && stdout.contains("runs/scene/trials/target=echo/2"), "{stdout}");
    let (stdout, stderr) = told(&brunt(home.path(), &["list", "--trials", "--where", "p99<2ms"]), 0);
    assert_eq!((stdout.as_str(), stderr.as_str()), ("", "no match among 1 directory\n"));
    let (stdout, stderr) = told(&brunt(home.path(), &["list", "--trials", "--limit", "1", "--json"]), 0);
    let json: serde_json::Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(json.as_array().unwrap().len(), 1);
    assert_eq!((&json[0]["rate"], &json[0]["values"]["connections"]), (&123_456.0.into(), &"2".into()));
    assert_eq!(json[0]["p999_us"], serde_json::Value::Null);
    assert_eq!(stderr, "1 more: --limit 0 shows all\n");
}

#[test]
fn a_run_that_was_killed_is_listed_with_what_it_has() {
    let home = scene(true);
    let mut run = Running::start(&mut command(home.path(), &RUN));
    let result = home.path().join("runs/scene/trials/target=echo/1/result.json");
    until("the first trial ends", || result.exists());
    // Alone: what it started goes on.
    run.child().kill().unwrap();
    run.child().wait().unwrap();
    let (stdout, _) = told(&brunt(home.path(), &["list"]), 0);
    assert!(stdout.contains("1, 1 to come  1 "), "{stdout}");
    // The same command continues the run and kills leftover processes.
    fs::write(home.path().join("go"), "").unwrap();
    told(&brunt(home.path(), &RUN), 0);
    let (stdout, _) = told(&brunt(home.path(), &["list"]), 0);
    assert!(stdout.lines().count() == 2 && judged(&stdout) == 2, "{stdout}");
}

#[test]
fn an_index_that_cannot_be_written_is_one_warning_and_no_failure() {
    let home = scene(false);
    fs::write(home.path().join("state"), "in the way").unwrap();
    let (stdout, stderr) = told(&brunt(home.path(), &RUN), 0);
    assert!(stdout.contains("123.5"), "{stdout}");
    let warnings: Vec<&str> = stderr.lines().filter(|line| line.contains("warning: ")).collect();
    assert_eq!(warnings.len(), 1, "{stderr}");
    assert!(warnings[0].starts_with("warning: runs/scene is missing from brunt list: "), "{stderr}");
    let (_, stderr) = told(&brunt(home.path(), &["list"]), 1);
    assert!(stderr.starts_with("error: ") && stderr.contains("BRUNT_STATE_DIR"), "{stderr}");
}

#[test]
fn moved_directories_are_found_by_rebuild() {
    let home = scene(false);
    told(&brunt(home.path(), &RUN), 0);
    fs::rename(home.path().join("runs/scene"), home.path().join("kept")).unwrap();
    let (stdout, stderr) = told(&brunt(home.path(), &["list"]), 0);
    assert!(stdout.contains("runs/scene (gone)") && stderr.starts_with("1 of them is missing: "), "{stdout}{stderr}");
    let (stdout, _) = told(&brunt(home.path(), &["list", "--rebuild", "."]), 0);
    assert!(stdout.starts_with("2 directories with 3 trials\nmoved: ") && stdout.ends_with("/kept\n"), "{stdout}");
    let (stdout, _) = told(&brunt(home.path(), &["list", "--plan", "scene"]), 0);
    assert!(stdout.lines().nth(1).unwrap().ends_with("  kept"), "{stdout}");
    let (stdout, _) = told(&brunt(home.path(), &["list", "--plan", "load"]), 0);
    assert!(stdout.lines().nth(1).unwrap().ends_with("  made"), "{stdout}");
}

#[test]
fn transcripts() {
    let state = brunt_testkit::home();
    trycmd::TestCases::new().env("BRUNT_STATE_DIR", state.path().to_str().unwrap()).case("tests/cmd/list-*.trycmd");
}
