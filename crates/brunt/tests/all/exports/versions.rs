//! `--junit FILE` of a comparison of two versions.

use crate::shared::consumers::{is, no_reader, read};
use brunt_testkit::{home, told};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};

#[test]
fn of_two_versions() {
    if no_reader() {
        return;
    }
    let home = home();
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
    let output = ci.arg(&file).args(["--", "--budget", "20s"]).output().unwrap();
    // Any rate is above 1 % of the other.
    told(&output, 99);
    let cases = read(&file, "brunt ci");
    assert!(is(&cases[0], "rate>-99%", "Failure", "rate>-99%: it was "), "{cases:?}");
    assert!(cases.len() == 2 && cases[1].0.starts_with("trust"), "{cases:?}");
}
