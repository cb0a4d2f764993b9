//! Each verdict of a real run, provoked by a matching situation; `docs/reference/verdicts.md` lists where its limits are
//! tested.
//!
//! A busy machine adds issues, so each test looks for its own issue among them; no test expects none.

use crate::shared::target::{Run, Target, json, load, pass};
use brunt_testkit::{Running, Signal, alone, assert_code, judge, listener, text, until};
use serde_json::Value;
use std::io::{Read, Write};
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// The sentences of a verdict, with its name.
fn verdict(output: &Output) -> (String, String) {
    let is_errors = json(output)["verdict"]["kind"] == "errors";
    assert_code(output, if is_errors { &[1] } else { &[3] });
    let verdict: Value = json(output)["verdict"].clone();
    assert_eq!(verdict["why"].as_array().unwrap().len(), verdict["remedy"].as_array().unwrap().len());
    (verdict["kind"].as_str().unwrap().to_owned(), verdict["why"].to_string())
}

fn run(url: &str, flags: &str) -> Output {
    load(url, &format!("{flags} --json - --quiet --seed 1")).output().unwrap()
}

#[test]
fn errors_of_a_server_that_answers_with_500() {
    let _alone = alone();
    let target = Target::start_web();
    let (kind, why) = verdict(&run(&target.http("/status/500"), "-n 50 -c 2"));
    assert!(kind == "errors" && why.contains("50 of 50 requests failed (50 status)"), "{kind}: {why}");
    assert!(why.contains("the first status: 500 with a body of 15 B, 'GET /status/500' instead of 200-399"), "{why}");
    let (_, why) = verdict(&run(&target.http("/"), "-n 50 -c 2"));
    assert!(!why.contains("failed"), "{why}");
}

#[test]
fn errors_of_a_port_that_accepts_and_never_answers() {
    let _alone = alone();
    let silent = listener();
    let address = silent.local_addr().unwrap();
    for url in [format!("tcp://{address}"), format!("http://{address}/")] {
        for (flags, failed) in [("-R 100 -c 4", "50 of 50"), ("-c 4", "4 of 4")] {
            let output = load(&url, &format!("{flags} -d 500ms --warmup 0s --quiet --no-meter")).output().unwrap();
            assert_code(&output, &[1]);
            let page = String::from_utf8_lossy(&output.stdout);
            let row =
                |name: &str| page.lines().find(|line| line.trim().starts_with(name)).unwrap_or_default().to_owned();
            assert!(row("response").chars().all(|c| !c.is_ascii_digit()), "{page}");
            assert!(row("errors").ends_with(" unanswered"), "{page}");
            assert!(page.contains(&format!("{failed} requests failed")) && page.contains("answered nothing"), "{page}");
            assert!(!page.contains("lower -R") && !page.contains("Little"), "{page}");
        }
    }
}

#[test]
fn errors_of_a_port_with_tls_name_the_scheme() {
    let _alone = alone();
    let listener = listener();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut request = [0; 512];
            let _ = stream.read(&mut request);
            // A fatal alert: unexpected_message.
            let _ = stream.write_all(&[21, 3, 3, 0, 2, 2, 10]);
        }
    });
    let output = run(&url, "-n 10 -c 2 -d 2s --warmup 0s --no-meter");
    let (_, why) = verdict(&output);
    assert!(why.contains("the first protocol error: a TLS record instead of an HTTP/1 reply"), "{why}");
    assert_eq!(json(&output)["verdict"]["remedy"][0], "the target speaks TLS: use https://");
}

#[test]
fn errors_of_bodies_that_are_not_the_required_ones_show_the_first() {
    let _alone = alone();
    let target = Target::start_web();
    let output = run(&target.http("/found"), "-n 50 -c 2 --warmup 0s --no-meter --expect-body lost");
    let (_, why) = verdict(&output);
    assert!(why.contains("50 of 50 requests failed (50 mismatch)"), "{why}");
    assert!(why.contains("the first mismatch: a body of 10 B, 'GET /found' instead of one with 'lost'"), "{why}");
}

#[test]
fn too_few_samples_of_a_run_that_ends_before_its_p99_is_known() {
    let _alone = alone();
    let target = Target::start();
    let (_, why) = verdict(&run(&target.url(), "-n 500 --warmup 0s"));
    assert!(why.contains("p99 needs 1000 requests"), "{why}");
    let more = json(&run(&target.url(), "-n 1500 --warmup 0s"))["verdict"]["why"].to_string();
    assert!(!more.contains("p99 needs"), "{more}");
}

#[test]
fn client_limited_by_a_generator_that_stands_still() {
    let _alone = alone();
    let mut target = Target::start();
    let run = Run::start(load(&target.url(), "-R 1000 -d 6s -c 20 --warmup 500ms --json - --quiet --seed 1"));
    target.until_asked();
    pass(Duration::from_millis(2000), "the warm-up ends and the window is well open");
    run.signal(Signal::STOP);
    pass(Duration::from_secs(1), "a sixth of the requests become due");
    run.signal(Signal::CONT);
    let output = run.end();
    let (kind, why) = verdict(&output);
    assert!(kind == "client-limited" && why.contains("the generator sent late: lag p99"), "{}", text(&output));
}

#[test]
fn rate_missed_by_a_server_that_takes_ten_milliseconds() {
    let _alone = alone();
    let url = slow(|_| Duration::from_millis(10));
    let (_, why) = verdict(&run(&url, "-R 1000 -c 2 -d 1s --warmup 0s"));
    assert!(why.contains("were answered of 1000 offered"), "{why}");
    // Two connections make 100 requests a second each; a tenth of that is easily reached, and late replies still
    // arrive.
    let easy = || json(&run(&url, "-R 20 -c 2 -d 2s --warmup 0s"))["verdict"]["why"].to_string();
    judge("an easy rate is reached", || {
        let why = easy();
        if why.contains("were answered of") { Err(why) } else { Ok(()) }
    });
}

#[test]
fn not_stationary_by_a_server_that_grows_slower() {
    let _alone = alone();
    let url = slow(|age| Duration::from_millis(5) + age / 100);
    let (_, why) = verdict(&run(&url, "-c 4 -d 9s --warmup 0s"));
    assert!(why.contains("s of the window") || why.contains("as in a warm-up"), "{why}");
}

#[test]
fn disturbed_by_another_program_on_the_generators_core() {
    let _alone = alone();
    let target = Target::start();
    let core = first_core();
    let hogs = [hog(&core), hog(&core)];
    let used = |hog: &Running| brunt_meter::process::cpu_of(hog.pid()).unwrap();
    until("both loops share the core", || hogs.iter().all(|hog| used(hog) >= Duration::from_millis(100)));
    let output = run(&target.url(), &format!("-c 20 -d 2s --warmup 200ms --cores {core}"));
    if json(&output)["generator"]["run_queue_wait_percent"].is_null() {
        println!("skipped: the kernel keeps no account of waiting for a core");
        return;
    }
    let (_, why) = verdict(&output);
    assert!(why.contains("a thread of the generator was runnable without a core"), "{why}");
}

/// An echo server with a delay per message that depends on its age.
fn slow(time: fn(Duration) -> Duration) -> String {
    let listener = listener();
    let url = format!("tcp://{}", listener.local_addr().unwrap());
    let born = Instant::now();
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            thread::spawn(move || {
                let mut message = [0; 100];
                while stream.read_exact(&mut message).is_ok() {
                    thread::sleep(time(born.elapsed()));
                    if stream.write_all(&message).is_err() {
                        return;
                    }
                }
            });
        }
    });
    url
}

/// The first core that this process may use.
fn first_core() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap();
    list.trim().split([',', '-']).next().unwrap().to_owned()
}

/// A busy loop on one core, killed at the end of the test.
fn hog(core: &str) -> Running {
    Running::start(Command::new("taskset").args(["-c", core, "sh", "-c", "while :; do :; done"]))
}

/// Lines of stderr about doubts of this kind.
fn doubts(stderr: &str, kind: &str) -> usize {
    stderr
        .lines()
        .filter(|line| line.starts_with("verdict so far, after ") && line.contains(&format!(" s: {kind}: ")))
        .count()
}

#[test]
fn a_doubt_is_told_of_when_it_arises_and_once() {
    let _alone = alone();
    let target = Target::start();
    // One connection cannot carry as much.
    let flags = |time: &str| format!("-R 1M -c 1 -d {time} --warmup 0s --no-meter --allow-untrusted");
    let mut load_of_target = load(&target.url(), &flags("10m"));
    let mut running = Running::start(load_of_target.stdout(Stdio::null()).stderr(Stdio::piped()));
    let mut said = String::new();
    while doubts(&said, "rate-missed") == 0 {
        said += &(running.line().unwrap_or_else(|| panic!("the load ended first: {said}")) + "\n");
    }
    pass(Duration::from_secs(2), "it might be told again");
    running.signal(Signal::INT);
    assert!(said.contains(" requests/s were answered of 1000000 offered"), "{said}");
    said.extend(std::iter::from_fn(|| running.line()).map(|line| line + "\n"));
    assert_eq!(doubts(&said, "rate-missed"), 1, "{said}");
    assert!(running.end().success(), "{said}");

    let output = load(&target.http("/"), "-d 1500ms -c 1 --warmup 0s --no-meter").output().unwrap();
    assert_eq!(doubts(&text(&output), "errors"), 1, "an echo is no reply: {}", text(&output));
    let output = load(&target.url(), &format!("{} --quiet", flags("4s"))).output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{}", text(&output));
}
