//! Programs that read what brunt exports.

use brunt_testkit::told;
use serde_json::Value;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

/// True if a program is missing; fails if it is required.
#[track_caller]
pub fn lacks(program: &str, is_here: bool) -> bool {
    let must = std::env::var("BRUNT_CONSUMERS").is_ok_and(|names| names.split(',').any(|name| name == program));
    assert!(is_here || !must, "BRUNT_CONSUMERS names {program}, which is not installed here");
    if !is_here {
        println!("skipped: {program} is not here");
    }
    !is_here
}

/// True if the command runs and exits with 0.
pub fn runs(command: &str, args: &[&str]) -> bool {
    let mut command = Command::new(command);
    command.args(args).output().is_ok_and(|output| output.status.success())
}

/// Fails if promtool has anything to say of the text.
#[track_caller]
pub fn check(text: &str) {
    let mut promtool = Command::new("promtool");
    let promtool = promtool.args(["check", "metrics"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = promtool.stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.is_empty(), "{said}\n{text}");
}

/// The value of the sample with this prefix.
#[track_caller]
pub fn sample(text: &str, name: &str) -> f64 {
    let line = text.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("{name} is not in {text}"));
    line.rsplit(' ').next().unwrap().parse().unwrap()
}

/// The one suite of a file, which has this name and counts that are true.
#[track_caller]
pub fn read(file: &Path, name: &str) -> Vec<(String, Vec<Value>)> {
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
pub fn no_reader() -> bool {
    lacks("junitparser", runs("python3", &["-c", "import junitparser"]))
}

/// Whether a case has one result of this kind, whose message has these words.
pub fn is(case: &(String, Vec<Value>), name: &str, kind: &str, words: &str) -> bool {
    let [result] = case.1.as_slice() else { return false };
    case.0 == name && result[0] == kind && result[1].as_str().is_some_and(|message| message.contains(words))
}
