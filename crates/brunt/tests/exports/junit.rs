//! `--junit FILE` of each command that has it, as junitparser reads it.

use super::common::told;
use super::live::{Load, Web, alone};
use super::scene::{Scene, write};
use super::{lacks, runs};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

/// The one suite of a file, which has this name and counts that are true.
#[track_caller]
fn read(file: &Path, name: &str) -> Vec<(String, Vec<Value>)> {
    let output = Command::new("python3").args(["-c", include_str!("junit.py")]).arg(file).output().unwrap();
    let suites: Value = serde_json::from_str(&told(&output, 0).0).unwrap();
    let [suite] = suites.as_array().unwrap().as_slice() else { panic!("{suites:#}") };
    assert!(suite["name"] == name && suite["written"] == suite["counted"], "{suite:#}");
    let case = |case: &Value| {
        assert!(case["classname"] == name && case["time"].as_f64() >= Some(0.0), "{case}");
        (case["name"].as_str().unwrap().to_owned(), case["results"].as_array().unwrap().clone())
    };
    suite["cases"].as_array().unwrap().iter().map(case).collect()
}

/// `pip install junitparser`.
#[track_caller]
fn no_reader() -> bool {
    lacks("junitparser", runs("python3", &["-c", "import junitparser"]))
}

/// Whether a case has one result of this kind, whose message has these words.
fn is(case: &(String, Vec<Value>), name: &str, kind: &str, words: &str) -> bool {
    let [result] = case.1.as_slice() else { return false };
    case.0 == name && result[0] == kind && result[1].as_str().is_some_and(|message| message.contains(words))
}

#[test]
fn of_a_load() {
    if no_reader() {
        return;
    }
    let _turn = alone();
    let (web, home) = (Web::start("--service hello"), tempfile::tempdir().unwrap());
    let file = home.path().join("load.xml");
    let flags = "-n 50 -c 1 --warmup 0s --no-meter --fail-if p99>1ns --fail-if failed>0 --junit";
    let ended = Load::start(&web.address, &format!("{flags} {}", file.display())).end_in_any_way();
    assert_eq!(ended.code, Some(99), "{}", ended.stderr);
    let cases = read(&file, "brunt load");
    assert!(is(&cases[0], "p99>1ns", "Failure", "p99>1ns: it was "), "{cases:?}");
    assert_eq!(
        (cases[1].0.as_str(), cases[1].1.len(), cases[2].0.as_str(), cases.len()),
        ("failed>0", 0, "verdict", 3)
    );
}

#[test]
fn of_a_comparison() {
    if no_reader() {
        return;
    }
    let scene = Scene::new();
    for (side, is_http) in [("a", false), ("b", true)] {
        (0..4).for_each(|repeat| write(&scene.home.path().join(format!("{side}/{repeat}")), is_http));
    }
    scene.brunt(&["compare", "a", "b", "--fail-if", "rate<-50%", "--junit", "compare.xml", "--allow-untrusted"]);
    let cases = read(&scene.home.path().join("compare.xml"), "brunt compare");
    assert_eq!((cases[0].0.as_str(), cases[0].1.len()), ("rate<-50%", 0));
    assert!(cases.len() == 2 && cases[1].0.starts_with("trust"), "{cases:?}");
}

#[test]
fn of_a_run() {
    if no_reader() {
        return;
    }
    let scene = Scene::with_run();
    let again = ["run", "plan.toml", "--quiet", "--tester", "sh", "--out", "again", "--junit", "run.xml"];
    scene.brunt(&again);
    let cases = read(&scene.home.path().join("run.xml"), "brunt run");
    let names: Vec<&str> = cases.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names[..2], ["target=echo,size=100B", "target=echo,size=1KiB"], "{cases:?}");
}

#[test]
fn of_two_versions() {
    if no_reader() {
        return;
    }
    let _turn = alone();
    let home = tempfile::tempdir().unwrap();
    let tree = home.path().join("tree");
    fs::create_dir(&tree).unwrap();
    let plan = "name = 'v'\n[load]\nconnections = 1\nduration = '50ms'\nwarmup = '0s'\npath = '/'\n\
        [[target]]\nname = 'server'\ncommand = ['./server', '{listen}']\n";
    fs::write(tree.join("plan.toml"), plan).unwrap();
    let brunt = env!("CARGO_BIN_EXE_brunt");
    fs::write(tree.join("server"), format!("#!/bin/sh\nexec {brunt} serve http --listen $1\n")).unwrap();
    fs::set_permissions(tree.join("server"), fs::Permissions::from_mode(0o755)).unwrap();
    for words in ["init --quiet", "add --all", "-c user.name=a -c user.email=a@b commit --quiet --message a"] {
        told(&Command::new("git").current_dir(&tree).args(words.split(' ')).output().unwrap(), 0);
    }
    let file = home.path().join("ci.xml");
    let mut ci = Command::new(brunt);
    ci.current_dir(&tree).env("BRUNT_STATE_DIR", home.path().join("state")).stdin(Stdio::null());
    ci.env("XDG_CACHE_HOME", home.path().join("cache"));
    ci.args(
        "ci plan.toml --base HEAD --build true --repeat 3 --allow-untrusted --fail-if rate>-99% --junit".split(' '),
    );
    let output = ci.arg(&file).args(["--", "--budget", "3s"]).output().unwrap();
    // Any rate is above 1 % of the other.
    told(&output, 99);
    let cases = read(&file, "brunt ci");
    assert!(is(&cases[0], "rate>-99%", "Failure", "rate>-99%: it was "), "{cases:?}");
    assert!(cases.len() == 2 && cases[1].0.starts_with("trust"), "{cases:?}");
}
