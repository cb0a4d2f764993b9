//! `brunt ci` as typed, in a git repository of two commits whose server is a script.

mod common;

use common::told;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const PLAN: &str = "name = 'versions'\n[load]\nconnections = 1\nduration = '50ms'\nwarmup = '0s'\npath = '/'\n\
    [[target]]\nname = 'server'\ncommand = ['./server', '{listen}']\n";

/// A repository whose one commit has this server.
struct Tree {
    home: TempDir,
}

impl Tree {
    /// Each reply takes this many milliseconds.
    fn new(delay_ms: u32) -> Self {
        let tree = Self { home: tempfile::tempdir().unwrap() };
        fs::create_dir(tree.root()).unwrap();
        tree.git(&["init", "--quiet", "--initial-branch", "main"]);
        tree.write("plan.toml", PLAN);
        tree.delay(delay_ms);
        tree.commit();
        tree
    }

    fn root(&self) -> PathBuf {
        self.home.path().join("tree")
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.root().join(name), text).unwrap();
    }

    fn delay(&self, ms: u32) {
        let brunt = env!("CARGO_BIN_EXE_brunt");
        self.write("routes.toml", &format!("[[route]]\npath = '/'\ntext = 'hello'\ndelay = '{ms}ms'\n"));
        // The routes are those beside the script, of its own version.
        let script = format!("#!/bin/sh\nexec {brunt} serve http --listen $1 --routes $(dirname $0)/routes.toml\n");
        self.write("server", &script);
        fs::set_permissions(self.root().join("server"), fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn git(&self, args: &[&str]) -> String {
        let mut git = Command::new("git");
        git.current_dir(self.root()).args(["-c", "user.name=a", "-c", "user.email=a@b"]).args(args);
        told(&git.output().unwrap(), 0).0
    }

    fn commit(&self) {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--message", "a server"]);
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_brunt"));
        let home = self.home.path();
        command.env("BRUNT_STATE_DIR", home.join("state")).env("XDG_CACHE_HOME", home.join("cache"));
        for variable in ["GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY"] {
            command.env_remove(variable);
        }
        command.current_dir(self.root()).stdin(Stdio::null()).arg("ci").args(args);
        command
    }

    fn ci(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    /// With [`SHORT`]. Again, at most twice, where the machine took too much of too many rounds.
    fn compare(&self, first: &[&str], on_github: bool) -> Output {
        let run = || {
            let mut command = self.command(&args(first));
            if on_github {
                command.env("GITHUB_ACTIONS", "true");
            }
            command.output().unwrap()
        };
        let is_unknown = |output: &Output| String::from_utf8_lossy(&output.stderr).contains("the change is not known");
        (0..2).map(|_| run()).find(|output| !is_unknown(output)).unwrap_or_else(run)
    }

    /// Nothing of the other version is left.
    fn assert_clean(&self) {
        assert_eq!(self.git(&["worktree", "list"]).lines().count(), 1);
        let mut folders = vec![self.home.path().join("cache")];
        while let Some(folder) = folders.pop() {
            for path in fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path()) {
                assert!(path.file_name().unwrap() != "base", "{}", path.display());
                folders.extend(path.is_dir().then_some(path));
            }
        }
    }
}

/// Short, and of few slices: 5 ms and 200 ms are told apart by any machine.
const SHORT: [&str; 7] = ["--build", "true", "--repeat", "3", "--", "--budget", "3s"];

fn args<'a>(first: &[&'a str]) -> Vec<&'a str> {
    first.iter().copied().chain(SHORT).collect()
}

#[test]
fn a_slower_tree_crosses_a_bound_and_an_equal_one_does_not() {
    let tree = Tree::new(5);
    tree.write("notes", "head is another commit");
    tree.commit();
    let bounds = ["plan.toml", "--base", "HEAD~1", "--fail-if", "rate<-50%&5"];
    let (stdout, stderr) = told(&tree.compare(&bounds, false), 0);
    assert!(stdout.starts_with("A  base\nB  head\n") && stdout.contains(" rounds of slices"), "{stdout}");
    assert!(
        stderr.contains("base: HEAD~1 (") && stderr.contains(", built in place\n") && !stderr.contains("with changes"),
        "{stderr}"
    );
    tree.assert_clean();

    // The change is in no commit yet.
    tree.delay(200);
    let junit = tree.home.path().join("junit.xml");
    let reported = [&bounds[..], &["--junit", junit.to_str().unwrap()]].concat();
    let (stdout, stderr) = told(&tree.compare(&reported, true), 99);
    assert!(stderr.contains(" with changes that are in no commit, built in place"), "{stderr}");
    assert!(stderr.contains("threshold crossed: rate<-50%&5: it was -"), "{stderr}\n{stdout}");
    assert!(stderr.contains("::error title=brunt ci%3A rate<-50%25&5::"), "{stderr}");
    let junit = fs::read_to_string(junit).unwrap();
    assert!(junit.contains("<testcase classname=\"brunt ci\" name=\"rate&lt;-50%&amp;5\""), "{junit}");
    assert!(junit.contains("failures=\"1\""), "{junit}");
    tree.assert_clean();
    // A change that is relatively large and matters little.
    let small = ["plan.toml", "--base", "HEAD~1", "--fail-if", "rate<-50%&10k"];
    told(&tree.compare(&small, false), 0);
    assert!(tree.root().join("runs/ci-3/report.md").exists());
}

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
    tree.write("server", "#!/bin/sh\necho out of order >&2\nexit 3\n");
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
        let running = tree.command(&args).stderr(Stdio::piped()).spawn().unwrap();
        let began = Instant::now();
        while base_of(&tree).is_none_or(|base| !base.join(mark).exists()) {
            assert!(began.elapsed() < Duration::from_secs(60), "the build does not begin");
            std::thread::sleep(Duration::from_millis(20));
        }
        running
    };
    let mut killed = ci("first");
    killed.kill().unwrap();
    killed.wait().unwrap();
    assert!(base_of(&tree).is_some());
    // The next one finds the folder and the build of the killed one.
    let running = ci("second");
    let (_, stderr) = told(&tree.ci(&args(&["plan.toml", "--base", "HEAD", "--fail-if", "rate<-3%"])), 1);
    assert!(stderr.contains("another brunt uses ") && stderr.contains("--build-dir"), "{stderr}");
    let pid = rustix::process::Pid::from_child(&running);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let (_, stderr) = told(&running.wait_with_output().unwrap(), 1);
    assert!(stderr.ends_with("error: interrupted: nothing was measured\n"), "{stderr}");
    tree.assert_clean();
}

fn base_of(tree: &Tree) -> Option<PathBuf> {
    let folders = fs::read_dir(tree.home.path().join("cache/brunt/ci")).ok()?;
    folders.flatten().map(|entry| entry.path().join("base")).find(|base| base.exists())
}
