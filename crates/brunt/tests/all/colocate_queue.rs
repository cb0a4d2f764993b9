//! `brunt colocate queue` as typed.

use brunt_testkit::told;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::{fs, thread};

fn brunt(home: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_brunt"));
    command.current_dir(home).env("BRUNT_STATE_DIR", home.join("state")).args(["colocate", "queue"]).args(args);
    command.stdin(Stdio::null()).output().unwrap()
}

#[test]
fn jobs_are_added_listed_and_cancelled() {
    let home = brunt_testkit::home();
    let told = |args: &[&str], code| told(&brunt(home.path(), args), code);
    let (stdout, stderr) = told(&["list"], 0);
    assert!(stdout.is_empty() && stderr.starts_with("no jobs in ") && stderr.ends_with("state/queue.sqlite\n"));
    let add = ["add", "--priority", "-2", "--retries", "3", "--env", "A=b c", "--times", "3", "--progress", r"n=(\d+)"];
    let command = ["--", "sh", "-c", "echo 'n=1'", "--priority"];
    assert_eq!(told(&[&add[..], &command].concat(), 0), ("1\n2\n3\n".to_owned(), String::new()));
    let (stdout, _) = told(&["list"], 0);
    assert!(stdout.lines().next().unwrap().starts_with(" id  state  priority  attempts"), "{stdout}");
    assert!(stdout.lines().nth(3).unwrap().ends_with(r"sh -c 'echo '\''n=1'\''' --priority"), "{stdout}");
    assert_eq!(told(&["cancel", "2", "3"], 0).0, "2 cancelled\n3 cancelled\n");
    let (stdout, _) = told(&["list", "--state", "ready,failed", "--json"], 0);
    let json: serde_json::Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(json.as_array().unwrap().len(), 1);
    let job = &json[0];
    assert_eq!((&job["id"], &job["priority"], &job["retries"]), (&1.into(), &(-2).into(), &3.into()));
    assert_eq!((&job["env"]["A"], &job["argv"][2]), (&"b c".into(), &"echo 'n=1'".into()));
    assert_eq!(Path::new(job["dir"].as_str().unwrap()), home.path().canonicalize().unwrap());
    assert_eq!(job["attempts"], serde_json::json!([]));
    assert_eq!(told(&["list", "--state", "done"], 0), (String::new(), "no such job among 3\n".to_owned()));
}

#[test]
fn nothing_is_cancelled_if_one_job_cannot_be() {
    let home = brunt_testkit::home();
    let told = |args: &[&str], code| told(&brunt(home.path(), args), code);
    told(&["add", "--times", "2", "--", "true"], 0);
    let (_, stderr) = told(&["cancel", "1", "7"], 2);
    assert!(stderr.starts_with("error: job 7 is not in ") && stderr.lines().count() == 1, "{stderr}");
    assert_eq!(told(&["cancel", "1"], 0).0, "1 cancelled\n");
    let (_, stderr) = told(&["cancel", "2", "1"], 2);
    assert_eq!(stderr, "error: job 1 cannot be cancelled: it is cancelled already\n");
    let (stdout, _) = told(&["list"], 0);
    assert!(stdout.contains("  2  ready "), "{stdout}");
}

#[test]
fn another_file_is_another_queue_and_must_be_one() {
    let home = brunt_testkit::home();
    let told = |args: &[&str], code| told(&brunt(home.path(), args), code);
    told(&["add", "--queue", "other.sqlite", "--", "true"], 0);
    assert_eq!(told(&["list"], 0).0, "");
    assert_eq!(told(&["--queue", "other.sqlite", "list"], 0).0.lines().count(), 2);
    fs::write(home.path().join("notes.txt"), "text\n".repeat(500)).unwrap();
    let (_, stderr) = told(&["list", "--queue", "notes.txt"], 2);
    assert_eq!(stderr, "error: notes.txt is not a queue: name another file with --queue\n");
    let (_, stderr) = told(&["add", "--queue", "notes.txt/queue", "--", "true"], 2);
    assert!(stderr.starts_with("error: notes.txt") && stderr.contains("--queue"), "{stderr}");
}

#[test]
fn ten_processes_may_add_at_once_to_a_queue_that_does_not_exist_yet() {
    let home = brunt_testkit::home();
    thread::scope(|scope| {
        for _ in 0..10 {
            scope.spawn(|| told(&brunt(home.path(), &["add", "--times", "5", "--", "true"]), 0));
        }
    });
    assert_eq!(told(&brunt(home.path(), &["list"]), 0).0.lines().count(), 51);
}

#[test]
fn transcripts() {
    let state = brunt_testkit::home();
    let cases = trycmd::TestCases::new();
    cases.env("BRUNT_STATE_DIR", state.path().to_str().unwrap()).case("tests/cmd/colocate-queue-*.trycmd");
}
