//! `brunt ci` as typed, in a git repository of two commits whose server is a script.

use super::shared::repository::{PLAN, Tree, args};
use brunt_testkit::{Running, Signal, assert_code, program, told, until};
use std::fs;
use std::path::PathBuf;
use std::process::Stdio;

#[test]
fn what_cannot_be_compared_is_said_in_a_line_before_anything_runs() {
    let tree = Tree::new(0);
    let refused = |args: &[&str], code: i32, named: &[&str]| {
        let bounded: Vec<&str> =
            ["plan.toml", "--fail-if", "rate<-3%"].into_iter().chain(args.iter().copied()).collect();
        let (stdout, stderr) = told(&tree.ci(&bounded), code);
        assert!(stdout.is_empty() && named.iter().all(|word| stderr.contains(word)), "{args:?}: {stderr}");
        tree.assert_clean();
        assert!(!tree.root().join("runs").exists(), "{args:?}");
    };
    let base = ["--base", "HEAD"];
    let with = |more: &[&'static str]| base.iter().chain(more).copied().collect::<Vec<_>>();
    refused(&["--base", "no-such"], 2, &["'no-such' names no commit of ", "fetch-depth: 0"]);
    refused(&base, 2, &["has no Cargo.toml", "--build 'make server'"]);
    refused(&with(&["--build", "true", "--target", "sever"]), 2, &["--target 'sever'", "did you mean 'server'?"]);
    refused(&with(&["--build", "true", "--binary", "../x"]), 2, &["--binary ../x: it is not in "]);
    refused(&with(&["--build", "true", "--binary", "plan.toml"]), 2, &["no command of the plan has it"]);
    refused(&with(&["--build", "true", "--", "--ony", "a=b"]), 2, &["unexpected argument '--ony'"]);
    refused(
        &with(&["--build", "echo one; echo two >&2; exit 7"]),
        1,
        &["base: the build", "status 7", "\n  one\n  two"],
    );
    refused(&with(&["--build", "rm server"]), 1, &["base: after the build 'rm server' its server does not exist"]);
    assert!(tree.root().join("server").exists(), "the other tree was built first");
    let (_, stderr) = told(&tree.ci(&["plan.toml", "--base", "HEAD", "--build", "true"]), 2);
    assert!(stderr.starts_with("error: no bound: say what fails, as --fail-if"), "{stderr}");
    let (_, stderr) = told(
        &tree
            .command(&["plan.toml", "--base", "HEAD", "--fail-if", "rate<-3%"])
            .env("PATH", "/nowhere")
            .output()
            .unwrap(),
        1,
    );
    assert_eq!(stderr, "error: there is no git on PATH: apt install git\n");
    let mut outside = tree.command(&["plan.toml", "--base", "HEAD", "--fail-if", "rate<-3%"]);
    let (_, stderr) = told(&outside.current_dir(tree.home.path()).output().unwrap(), 2);
    assert!(stderr.contains(" is not in a git work tree: "), "{stderr}");
}

/// How much slower is for simulated time: `crates/brunt/tests/sim/slices.rs`.
#[test]
fn two_versions_are_built_and_measured_by_slices() {
    let tree = Tree::new(1);
    tree.write("notes", "head is another commit");
    tree.commit();
    let output = tree.ci(&args(&["plan.toml", "--base", "HEAD~1", "--fail-if", "rate<-50%"]));
    // Whether so short a time tells the two apart is up to the machine.
    assert_code(&output, &[0, 3, 99]);
    let [stdout, stderr] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    assert!(stdout.starts_with("A  base\nB  head\n") && stdout.contains(" of slices"), "{stdout}");
    assert!(stderr.contains("base: HEAD~1 (") && stderr.contains(", built in place\n"), "{stderr}");
    assert!(!stderr.contains("with changes") && tree.root().join("runs/ci/report.md").exists(), "{stderr}");
    tree.assert_clean();
}

#[test]
fn a_slower_tree_crosses_a_bound_and_an_equal_one_does_not() {
    let tree = Tree::with_rates();
    let junit = tree.home.path().join("junit.xml");
    let compare = |rate: u32, bound: &str| {
        let mut command = tree.compare(rate, &["--fail-if", bound, "--junit", junit.to_str().unwrap()]);
        let output = command.env("GITHUB_ACTIONS", "true").output().unwrap();
        tree.assert_clean();
        (output, fs::read_to_string(&junit).unwrap())
    };
    let (output, junit) = compare(1000, "rate<-50%&5");
    let (_, stderr) = told(&output, 0);
    assert!(!stderr.contains("with changes") && junit.contains("failures=\"0\""), "{stderr}\n{junit}");

    // The change is in no commit yet.
    tree.delay(200);
    let (output, junit) = compare(25, "rate<-50%&5");
    let (stdout, stderr) = told(&output, 99);
    assert!(stderr.contains(" with changes that are in no commit, built in place"), "{stderr}");
    assert!(stderr.contains("threshold crossed: rate<-50%&5: it was -97."), "{stderr}\n{stdout}");
    assert!(stderr.contains("::error title=brunt ci%3A rate<-50%25&5::"), "{stderr}");
    assert!(junit.contains("<testcase classname=\"brunt ci\" name=\"rate&lt;-50%&amp;5\""), "{junit}");
    assert!(junit.contains("failures=\"1\""), "{junit}");
    // A change that is relatively large and matters little.
    told(&compare(25, "rate<-50%&10k").0, 0);
    assert!(tree.root().join("runs/ci-3/report.md").exists());
}

#[test]
fn a_commit_without_the_binary_is_an_error_that_names_it() {
    let tree = Tree::new(0);
    tree.git(&["mv", "server", "new-server"]);
    tree.write("plan.toml", &PLAN.replace("./server", "./new-server"));
    tree.commit();
    let (_, stderr) = told(&tree.ci(&args(&["plan.toml", "--base", "HEAD~1", "--fail-if", "rate<-3%"])), 1);
    assert!(stderr.contains("base: after the build 'true' its new-server does not exist"), "{stderr}");
    tree.assert_clean();
}

#[test]
fn a_version_that_does_not_start_fails_the_comparison_and_is_named() {
    let tree = Tree::new(0);
    program(&tree.root().join("server"), "#!/bin/sh\necho out of order >&2\nexit 3\n");
    let output = tree.ci(&args(&["plan.toml", "--base", "HEAD", "--fail-if", "rate<-3%", "--quiet"]));
    let (_, stderr) = told(&output, 1);
    let error = stderr.lines().find(|line| line.starts_with("error: ")).unwrap();
    assert!(error.starts_with("error: target=head: repeat 1: ") && error.contains("out of order"), "{stderr}");
    tree.assert_clean();
}

#[test]
fn ctrl_c_removes_the_other_tree_and_so_does_the_run_after_a_kill() {
    let tree = Tree::new(0);
    let ci = |mark: &str| {
        let build = format!("echo > {mark}; exec sleep 300");
        let args = ["plan.toml", "--base", "HEAD", "--fail-if", "rate<-3%", "--build", &build];
        let running = Running::start(tree.command(&args).stderr(Stdio::piped()));
        until("the build begins", || base_of(&tree).is_some_and(|base| base.join(mark).exists()));
        running
    };
    let mut killed = ci("first");
    // Alone: what it started goes on.
    killed.child().kill().unwrap();
    killed.child().wait().unwrap();
    assert!(base_of(&tree).is_some());
    // The next one finds the folder and the build of the killed one.
    let running = ci("second");
    let (_, stderr) = told(&tree.ci(&args(&["plan.toml", "--base", "HEAD", "--fail-if", "rate<-3%"])), 1);
    assert!(stderr.contains("another brunt uses ") && stderr.contains("--build-dir"), "{stderr}");
    running.signal(Signal::INT);
    let (_, stderr) = told(&running.output(), 1);
    assert!(stderr.ends_with("error: interrupted: nothing was measured\n"), "{stderr}");
    tree.assert_clean();
}

fn base_of(tree: &Tree) -> Option<PathBuf> {
    let folders = fs::read_dir(tree.home.path().join("cache/brunt/ci")).ok()?;
    folders.flatten().map(|entry| entry.path().join("base")).find(|base| base.exists())
}
