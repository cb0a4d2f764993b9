//! The programs with which comparisons are tested: `examples/noise`, `examples/truth`, `examples/work_server.rs`,
//! `examples/recorded.rs`.

#[path = "../../examples/truth/answers.rs"]
#[allow(dead_code, reason = "its tests are run here, its table is printed by the example")]
mod answers;

use crate::shared::example::example;
use brunt_results::LatencySummary;
use brunt_slices::Slice;
use brunt_testkit::{Running, Signal, until};
use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

fn noise(arguments: &str) -> Command {
    let mut command = Command::new(example("noise"));
    command.args(arguments.split_whitespace());
    command
}

fn run(arguments: &str) -> Output {
    noise(arguments).output().unwrap()
}

/// Control groups made by the process.
fn groups_of(pid: u32) -> Vec<PathBuf> {
    fn search(directory: &Path, ending: &str, found: &mut Vec<PathBuf>) {
        let Ok(entries) = fs::read_dir(directory) else { return };
        for entry in entries.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
            if entry.file_name().to_string_lossy().ends_with(ending) {
                found.push(entry.path());
            }
            search(&entry.path(), ending, found);
        }
    }
    let mut found = Vec::new();
    search(Path::new("/sys/fs/cgroup"), &format!("-{pid}"), &mut found);
    found.retain(|path| path.to_string_lossy().contains("/noise-"));
    found
}

/// Whether control groups can be made here, for tests that need them.
fn has_groups() -> bool {
    let output = run("all -- true");
    if !output.status.success() {
        eprintln!("skipped: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    output.status.success()
}

#[test]
fn the_status_is_that_of_the_command_and_the_limit_ends_it() {
    assert_eq!(run("busy -- false").status.code(), Some(1));
    // The command itself would be hung.
    let mut limited = Running::start(&mut noise("cache --limit 1 -- sleep 1000"));
    assert_eq!(limited.end().code(), Some(124));
    for (wrong, named) in [("loud -- true", "'loud'"), ("none", "usage"), ("none --seed x -- true", "--seed 'x'")] {
        let output = run(wrong);
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(2) && stderr.contains(named) && stderr.lines().count() == 1, "{stderr}");
    }
}

#[test]
fn no_control_group_remains_however_it_ends() {
    if !has_groups() {
        return;
    }
    for signal in [None, Some(Signal::KILL), Some(Signal::TERM)] {
        let ready = brunt_testkit::home();
        let file = ready.path().join("pid");
        let script = format!(
            "echo $$ >{0}.new; mv {0}.new {0}; exec sleep {1}",
            file.display(),
            if signal.is_some() { 60 } else { 1 }
        );
        let mut running = Running::start(noise("all --").args(["sh", "-c", &script]));
        let id = running.pid();
        until("the command runs", || file.exists());
        assert_eq!(groups_of(id).len(), 2, "one that freezes, one with a quota");
        if let Some(signal) = signal {
            running.signal(signal);
        }
        // Alone: the guard works on after its process was killed.
        running.child().wait().unwrap();
        until("the groups are removed", || groups_of(id).is_empty());
        let pid = fs::read_to_string(&file).unwrap();
        let process = format!("/proc/{}", pid.trim());
        until("the command is gone", || fs::metadata(&process).is_err_and(|error| error.kind() == ErrorKind::NotFound));
    }
}

#[test]
fn a_server_with_counted_work_echoes() {
    let mut server = Command::new(example("work_server"));
    let mut server = Running::start(server.args(["127.0.0.1:0", "00001000"]).stdout(Stdio::piped()));
    let address = server.line_after("listening on ");
    let mut client = TcpStream::connect(address).unwrap();
    for message in ["one", "another"] {
        client.write_all(message.as_bytes()).unwrap();
        let mut echo = vec![0; message.len()];
        client.read_exact(&mut echo).unwrap();
        assert_eq!(echo, message.as_bytes());
    }
}

#[test]
fn recorded_slices_are_a_line_a_round() {
    let home = brunt_testkit::home();
    let files = ["one.jsonl", "two.jsonl"].map(|name| home.path().join(name));
    let slice = |round: u32, target: &str, completed: u64, lost_us: f64| Slice {
        start: 1,
        round,
        target: target.to_owned(),
        window_us: 50_000,
        busy_us: 60_000,
        completed,
        replies: completed,
        server_cpu_us: Some(30_000.0),
        lost_us,
        latency: LatencySummary { p50_us: (completed > 0).then_some(92.159), ..LatencySummary::default() },
        ..Slice::default()
    };
    let mut failed = slice(2, "y", 100, 0.0);
    failed.failed = 1;
    let rounds = [slice(1, "y", 8765, 0.0), slice(1, "x", 0, 7500.0), failed, slice(2, "x", 100, 0.0)];
    for file in &files {
        fs::write(file, rounds.iter().flat_map(Slice::line).collect::<Vec<u8>>()).unwrap();
    }
    let output = Command::new(example("recorded")).args(&files).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let line = "b 175.3 3.423 92.16 0 0 0 0 12.5";
    assert!(lines[0].starts_with("# ") && lines[1..] == [line, "", line, ""], "{text}");
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(told.starts_with("2 recordings, 2 rounds, 2 left out"), "{told}");
    assert_eq!(Command::new(example("recorded")).output().unwrap().status.code(), Some(2));
}

#[test]
fn rows_of_truth_are_tabled_and_belong_to_one_setting() {
    let home = brunt_testkit::home();
    let rows = home.path().join("rows.jsonl");
    let row = r#"{"noise":"busy","servers":"twins","number":0,"settings":"slices","seconds":31.5,"failed":"it died"}"#;
    let double = row.replace("twins", "double").replace(
        r#""failed":"it died""#,
        r#""answers":[{"figure":"cost","verdict":"different","ratio":2.0,"low":1.9,"high":2.1}]"#,
    );
    fs::write(&rows, format!("{row}\n{double}\n")).unwrap();
    let truth = |more: &[&str]| {
        for needed in ["noise", "work_server"] {
            example(needed);
        }
        let mut truth = Command::new(example("truth"));
        truth.args(["--runs", "0", "--brunt", env!("CARGO_BIN_EXE_brunt"), "--rows"]).arg(&rows).args(more);
        truth.output().unwrap()
    };
    let text = String::from_utf8(truth(&[]).stdout).unwrap();
    assert!(text.contains("| busy | twins | cost | 1 | 0 | 0 | 0 | 1 | 0 | - | - |"), "{text}");
    assert!(text.contains("Work is 100.0 % of the cost") && text.contains("costs x1.0325."), "{text}");
    assert!(text.ends_with("Runs by slices: 2, the longest 31.5 s\n"), "{text}");
    let other = truth(&["--order", "trials"]);
    let told = String::from_utf8(other.stderr).unwrap();
    assert!(other.status.code() == Some(2) && told.contains("has runs by 'slices', not by 'trials'"), "{told}");
    fs::write(&rows, format!("{row}\n")).unwrap();
    let told = String::from_utf8(truth(&[]).stderr).unwrap();
    assert!(told.contains("the truth is unknown") && told.contains("--runs 1"), "{told}");
}
