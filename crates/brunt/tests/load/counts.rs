//! `--counts`: a file and a pipe, as a controller reads them.

use crate::shared::target::{PATIENCE, Run, Target, json, load, number};
use brunt_results::counts::Counts;
use brunt_testkit::{Signal, assert_code, text};
use rustix::fs::OFlags;
use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, Write as _};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc::{self, Receiver};
use std::thread;

fn lines(path: &Path) -> Vec<Counts> {
    fs::read_to_string(path).unwrap().lines().map(|line| Counts::of_line(line).unwrap()).collect()
}

/// Lines of a pipe as they come.
fn read(path: PathBuf) -> Receiver<String> {
    let (sender, lines) = mpsc::channel();
    thread::spawn(move || {
        let reader = BufReader::new(File::open(path).unwrap());
        reader.lines().map_while(Result::ok).try_for_each(|line| sender.send(line))
    });
    lines
}

#[test]
fn a_file_has_each_request_once_warm_up_included() {
    let target = Target::start();
    let home = brunt_testkit::home();
    let path = home.path().join("counts.jsonl");
    let flags =
        format!("-R 200 -d 300ms --warmup 100ms --slo p99<1s --json - --allow-untrusted --counts {}", path.display());
    let output = load(&target.url(), &flags).output().unwrap();
    // A pause of the machine over the whole window leaves no reply.
    assert_code(&output, &[0, 1]);
    let lines = lines(&path);
    assert_eq!(lines.iter().map(|line| line.count).sum::<u64>(), 80);
    // Completed ones are those that end in the window: a pause at its start or end changes their number.
    assert_eq!(number(&json(&output), "latency.response.count"), 60.0);
    assert!(lines.iter().all(|line| line.end.is_some()), "{lines:?}");
}

#[test]
fn what_becomes_due_while_the_server_is_stopped_is_slow_and_a_pipe_gets_each_line_as_it_is_made() {
    let mut target = Target::start();
    let home = brunt_testkit::home();
    let path = home.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    let flags = format!("-R 500 -c 2 -d 10m --warmup 0s --slo p99<50ms --counts {}", path.display());
    let running = Run::start(load(&target.url(), &flags));
    let lines = read(path);
    let next = || Counts::of_line(&lines.recv_timeout(PATIENCE).expect("a line in time")).unwrap();
    target.until_asked();
    while next().count == 0 {}
    target.signal(Signal::STOP);
    // Far more than there are connections: those that could not be sent are slow too.
    let mut slow = 0;
    while slow < 100 {
        slow += next().slow;
    }
    let stalled = next();
    assert_eq!(stalled.count, stalled.slow);
    target.signal(Signal::CONT);
    while next().slow > 0 {}
    running.signal(Signal::INT);
    running.end();
}

#[test]
fn a_pipe_that_nothing_reads_delays_nothing_and_its_lost_lines_are_counted() {
    let target = Target::start();
    let home = brunt_testkit::home();
    let path = home.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    let full =
        OpenOptions::new().read(true).write(true).custom_flags(OFlags::NONBLOCK.bits() as i32).open(&path).unwrap();
    while (&full).write_all(&[b'\n'; 4096]).is_ok() {}
    let flags = format!("-R 100 -d 500ms --warmup 0s --slo p99<1s --allow-untrusted --counts {}", path.display());
    let output = load(&target.url(), &flags).output().unwrap();
    assert_code(&output, &[0]);
    let told = text(&output);
    assert!(told.contains("lines of --counts were lost: nothing reads the pipe"), "{told}");
}

#[test]
fn flags_that_do_not_fit_are_refused_in_a_line() {
    for (flags, needle) in [
        ("--counts x", "--slo"),
        ("--slo p99<6ms", "--counts"),
        ("--counts x --slo p99<6ms,errors<1%", "not a limit of one percentile"),
        ("--counts x --slo p99<6ms --counts-every 5s", "--counts-every 5s: it must be from 10ms to 1s"),
        ("--counts /no/such/dir/x --slo p99<6ms", "cannot write to /no/such/dir/x"),
    ] {
        let output = load("tcp://127.0.0.1:1", flags).output().unwrap();
        let told = text(&output);
        assert!(!output.status.success() && told.contains(needle), "{flags}: {told}");
    }
}
