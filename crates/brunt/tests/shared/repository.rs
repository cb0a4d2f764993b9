//! A git repository whose server is a script, and `brunt ci` in it.

use brunt_testkit::{Home, program, told};
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

pub const PLAN: &str = "name = 'versions'\n[load]\nconnections = 1\nduration = '50ms'\nwarmup = '0s'\npath = '/'\n\
    [[target]]\nname = 'server'\ncommand = ['./server', '{listen}']\n";

/// A repository whose one commit has this server.
pub struct Tree {
    pub home: Home,
}

impl Tree {
    /// Each reply takes this many milliseconds.
    pub fn new(delay_ms: u32) -> Self {
        let tree = Self { home: brunt_testkit::home() };
        fs::create_dir(tree.root()).unwrap();
        tree.git(&["init", "--quiet", "--initial-branch", "main"]);
        tree.write("plan.toml", PLAN);
        tree.delay(delay_ms);
        tree.commit();
        tree
    }

    pub fn root(&self) -> PathBuf {
        self.home.path().join("tree")
    }

    pub fn write(&self, name: &str, text: &str) {
        fs::write(self.root().join(name), text).unwrap();
    }

    pub fn delay(&self, ms: u32) {
        let brunt = env!("CARGO_BIN_EXE_brunt");
        self.write("routes.toml", &format!("[[route]]\npath = '/'\ntext = 'hello'\ndelay = '{ms}ms'\n"));
        // The routes are those beside the script, of its own version.
        let script = format!("#!/bin/sh\nexec {brunt} serve http --listen $1 --routes $(dirname $0)/routes.toml\n");
        program(&self.root().join("server"), &script);
    }

    pub fn git(&self, args: &[&str]) -> String {
        let mut git = Command::new("git");
        git.current_dir(self.root()).args(["-c", "user.name=a", "-c", "user.email=a@b"]).args(args);
        told(&git.output().unwrap(), 0).0
    }

    pub fn commit(&self) {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--message", "a server"]);
    }

    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_brunt"));
        let home = self.home.path();
        command.env("BRUNT_STATE_DIR", home.join("state")).env("XDG_CACHE_HOME", home.join("cache"));
        for variable in ["GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY"] {
            command.env_remove(variable);
        }
        command.current_dir(self.root()).stdin(Stdio::null()).arg("ci").args(args);
        command
    }

    pub fn ci(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    /// Nothing of the other version is left.
    pub fn assert_clean(&self) {
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

/// Says what the servers do instead of loading them: about 1,000 requests a second, or of head what `../rate` has.
const TESTER: &str = r#"while [ $# -gt 0 ]; do case $1 in --out) out=$2;; esac; shift; done
rate=1000; case $out in *target=head*) rate=$(cat ../rate);; esac
sed "s/5000/$((rate * (100 + ${out##*/}) / 100))/" ../result.json > $out/result.json
"#;

/// Comparisons of known rates.
impl Tree {
    pub fn with_rates() -> Self {
        let tree = Self::new(0);
        let mut result = brunt_results::RunResult::new("fake");
        result.requests.rate = 5000.0;
        fs::write(tree.home.path().join("result.json"), serde_json::to_vec(&result).unwrap()).unwrap();
        tree.write("load", TESTER);
        tree.commit();
        tree
    }

    /// Of the commit, at 1,000 requests a second, with the tree as it is now, at this rate.
    pub fn compare(&self, rate: u32, args: &[&str]) -> Command {
        fs::write(self.home.path().join("rate"), rate.to_string()).unwrap();
        let measuring = ["--build", "true", "--repeat", "3", "--", "--order", "abba", "--tester", "sh"];
        self.command(&[&["plan.toml", "--base", "HEAD"], args, &measuring].concat())
    }
}

/// Short, and of few slices.
const SHORT: [&str; 7] = ["--build", "true", "--repeat", "2", "--", "--budget", "1s"];

pub fn args<'a>(first: &[&'a str]) -> Vec<&'a str> {
    first.iter().copied().chain(SHORT).collect()
}
