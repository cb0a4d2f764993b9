//! Memory of the live view: the seconds of a day are read, by `brunt watch` and by `--live`, in less than 20 MB
//! beside the pages of the program itself.

use crate::shared::screen::Screen;
use crate::shared::target::{PATIENCE, Run, Target, pass};
use brunt_results::directory::Directory;
use brunt_results::series::{Second, SoFar};
use brunt_results::start::LoadStart;
use brunt_testkit::{assert_code, text, until};
use std::fs::{self, File};
use std::io::{BufWriter, Write as _};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

const MOST_BYTES: u64 = 20_000_000;
const DAY: u32 = 86_400;

/// A second whose figures are [`MARKS`] where those of a day differ.
fn second() -> Second {
    let mut so_far = SoFar::default();
    (so_far.response.count, so_far.response.p99_us, so_far.lag_p99_us) = (33_333, Some(400.0), Some(3.0));
    Second {
        at_s: -1.0,
        offered: Some(1003),
        completed: 11_111,
        connections: 100,
        p50_us: Some(-2.0),
        p99_us: Some(380.5),
        p999_us: Some(1200.0),
        server_cpu_user_percent: Some(20.0),
        server_cpu_system_percent: Some(30.5),
        server_rss_bytes: Some(10 << 20),
        so_far: Some(Box::new(so_far)),
        ..Second::default()
    }
}

/// In the order of the line: the time, whether it is warm-up, replies, their median, replies so far.
const MARKS: [&str; 5] = ["-1.0", "false", "11111", "-2.0", "33333"];

/// Appends a line for each second of a day to a series; returns its length. One is serialized, and the others differ in [`MARKS`].
fn write_day(series: &Path) -> u64 {
    let line = serde_json::to_string(&second()).unwrap() + "\n";
    let mut rest = line.as_str();
    let parts = MARKS.map(|mark| {
        let (part, after) = rest.split_once(mark).expect(mark);
        rest = after;
        part
    });
    let mut file = BufWriter::new(File::options().append(true).create(true).open(series).unwrap());
    for at in 1..=DAY {
        let (replies, p50) = (1000 + at % 7, 41.2 + f64::from(at % 13));
        let values =
            [format!("{at}.0"), (at == 1).to_string(), replies.to_string(), p50.to_string(), format!("{at}000")];
        for (part, value) in parts.iter().zip(values) {
            file.write_all(part.as_bytes()).unwrap();
            file.write_all(value.as_bytes()).unwrap();
        }
        file.write_all(rest.as_bytes()).unwrap();
    }
    file.into_inner().unwrap().metadata().unwrap().len()
}

/// The directory of a load of a day that was killed at its end.
fn day(directory: &Path) -> u64 {
    let start = LoadStart { warmup_s: 1.0, duration_s: f64::from(DAY - 1), connections: 100, ..LoadStart::default() };
    drop(Directory::create(directory).unwrap().announce(&start).unwrap());
    write_day(&directory.join("series.jsonl"))
}

/// A number in a file of `/proc/PID`.
fn number(pid: u32, file: &str, name: &str) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/{file}")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim_start_matches(':').split_whitespace().next()?.parse().ok()
}

/// The largest resident memory of the process so far, in bytes, without the pages of files: the program is larger without optimisation.
fn peak(pid: u32) -> Option<u64> {
    let kib = |name| number(pid, "status", name);
    Some(kib("VmHWM")?.saturating_sub(kib("RssFile")?) << 10)
}

/// Waits until the process has read as many bytes.
fn until_read(pid: u32, bytes: u64) {
    until(&format!("{bytes} bytes are read"), || number(pid, "io", "rchar").is_none_or(|read| read >= bytes));
    pass(Duration::from_millis(500), "what it has read is shown");
}

/// The process that a shell in a terminal becomes, which wrote its number to a file.
fn pid(noted: &Path) -> u32 {
    fs::read_to_string(noted).unwrap().trim().parse().unwrap()
}

#[test]
fn a_day_in_a_pipe() {
    let home = brunt_testkit::home();
    day(home.path());
    let mut watch = Command::new(env!("CARGO_BIN_EXE_brunt"));
    watch.arg("watch").arg(home.path());
    let running = Run::start(watch);
    let mut most = 0;
    while !running.is_over() {
        // Nothing is left of a process that has ended.
        most = most.max(peak(running.pid()).unwrap_or(0));
        assert!(running.began.elapsed() < 2 * PATIENCE, "it goes on");
        pass(Duration::from_millis(10), "it grows");
    }
    let output = running.end();
    assert_code(&output, &[1]);
    assert!(text(&output).contains("86400/86400 s"), "{}", text(&output));
    println!("{most} bytes at most");
    assert!(most > 1 << 20 && most < MOST_BYTES, "{most} bytes");
}

#[test]
fn a_day_on_a_screen() {
    let home = brunt_testkit::home();
    let (directory, noted) = (home.path().join("day"), home.path().join("pid"));
    let length = day(&directory);
    let brunt = env!("CARGO_BIN_EXE_brunt");
    let watch = format!("sh -c 'echo $$ > {}; exec {brunt} watch {}'", noted.display(), directory.display());
    let Some(screen) = Screen::start(&watch) else { return };
    screen.until(&["q quit"]);
    let pid = pid(&noted);
    until_read(pid, length);
    let most = peak(pid).unwrap();
    println!("{most} bytes at most");
    assert!(most < MOST_BYTES, "{most} bytes");
    screen.keys("q");
    screen.until(&["EXIT 0"]);
}

#[test]
fn a_day_of_a_load_with_live() {
    let (target, home) = (Target::start(), brunt_testkit::home());
    let (directory, noted) = (home.path().join("load"), home.path().join("pid"));
    let load = format!("load {} --live -R 100 -c 2 -d 300s --warmup 0s --allow-untrusted", target.url());
    let brunt = env!("CARGO_BIN_EXE_brunt");
    let shell = format!("sh -c 'echo $$ > {}; exec {brunt} {load} --out {}'", noted.display(), directory.display());
    let Some(screen) = Screen::start(&shell) else { return };
    screen.until(&["verdict so far: "]);
    let pid = pid(&noted);
    let before = peak(pid).unwrap();
    // The seconds of the load are written over the first of them, and are in the past of the last.
    let length = write_day(&directory.join("series.jsonl"));
    until_read(pid, length);
    let most = peak(pid).unwrap();
    println!("{before} bytes before, {most} bytes at most");
    assert!(most - before < MOST_BYTES, "{before} bytes before, {most} after");
    screen.keys("q");
    screen.until(&["EXIT 0"]);
}
