//! Words that earlier versions accepted and that have other names today: both spellings have the same outcome.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

type Lines = &'static [(&'static str, i32)];

/// Old word, new word, and command lines with the word at `{}`, each with its exit code. Messages of refused lines name the
/// flag, so they show that the old word stands for the new one.
const COMMANDS: [(&str, &str, Lines); 4] = [
    ("--again", "--retries", &[("run plain.toml --dry-run {} 5", 0), ("run plain.toml --dry-run {} 101", 2)]),
    ("mirrored", "abba", &[("run plain.toml --dry-run --order {}", 0)]),
    ("again", "retries", &[("run {}.toml --dry-run", 0)]),
    ("mate", "worker", &[("{} --help", 0), ("{} load", 2)]),
];

const PLAN: &str =
    "name = 'x'\n[load]\nconnections = 2\n[[target]]\nname = 'one'\nserve = { service = 'echo', model = 'epoll' }\n";

/// Exit code, stdout and stderr.
fn outcome(dir: &Path, line: &str) -> (Option<i32>, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_brunt"))
        .args(line.split(' '))
        .current_dir(dir)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn words_of_earlier_versions_are_accepted() {
    let home = brunt_testkit::home();
    fs::write(home.path().join("plain.toml"), PLAN).unwrap();
    for word in ["again", "retries"] {
        fs::write(home.path().join(format!("{word}.toml")), format!("{word} = 5\n{PLAN}")).unwrap();
    }
    for (old, new, lines) in COMMANDS {
        for (line, code) in lines {
            let (found, stdout, stderr) = outcome(home.path(), &line.replace("{}", old));
            let rename = |text: String| text.replace(old, new);
            let expected = outcome(home.path(), &line.replace("{}", new));
            assert_eq!((found, rename(stdout), rename(stderr)), expected, "{line} with {old}");
            assert_eq!(found, Some(*code), "{line} with {old}");
        }
    }
}

#[test]
fn words_of_earlier_versions_mean_the_same_in_plans() {
    let read = |line: &str| brunt_lab::plan::read("x.toml", &format!("{line}\n{PLAN}"));
    assert_eq!(read("again = 7").unwrap(), read("retries = 7").unwrap());
}
