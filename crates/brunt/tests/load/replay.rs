//! Access logs at their own times, as typed. When each request comes is shown in a simulated world: `tests/sim/replay.rs`.

use crate::shared::recorder::Recorder;
use crate::shared::target::{json, load, number};
use brunt_testkit::{assert_code, text};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::process::Output;

/// A log of three seconds with 40, 10 and 20 requests in the combined format, and lines that are none.
fn log() -> String {
    let mut log = String::new();
    for (second, count) in [(6, 40), (7, 10), (8, 20)] {
        for number in 0..count {
            let method = if number % 5 == 4 { "POST" } else { "GET" };
            let _ = writeln!(
                log,
                "192.0.2.7 - - [10/Oct/2026:13:55:{second:02} +0200] \"{method} /s{second}/{number}?q HTTP/1.1\" 200 12 \"-\" \"Mozilla/5.0\""
            );
        }
        log += "192.0.2.7 - - [10/Oct/2026:13:55:06 +0200] \"\\x16\\x03\\x01\" 400 150 \"-\" \"-\"\n";
    }
    log
}

fn replay(server: &Recorder, log: &str, flags: &str) -> Output {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), log).unwrap();
    let flags = format!("--replay {} -c 8 --no-meter --allow-untrusted {flags}", file.path().display());
    load(&server.url(), &flags).output().unwrap()
}

#[test]
fn a_log_of_three_seconds_takes_a_quarter_as_long_at_speed_4() {
    let server = Recorder::start();
    let output = replay(&server, &log(), "--speed 4 -t 2 --quiet --json -");
    assert_code(&output, &[0]);
    let (result, seen) = (json(&output), server.take());
    assert_eq!((result["load"]["mode"].as_str(), result["load"]["arrival"].as_str()), (Some("open"), Some("recorded")));
    assert_eq!(number(&result, "load.measured_s"), 0.75);
    assert!((number(&result, "requests.offered_rate") - 70.0 / 0.75).abs() < 0.01);
    assert_eq!((number(&result, "load.warmup_s"), number(&result, "latency.response.count")), (0.0, 70.0));
    // The last are not sent if the machine pauses at the end.
    let unsent = 70 - seen.len();
    assert!(unsent as f64 <= number(&result, "requests.unanswered"), "{result:#}");
    // Each request of the log came once at most.
    let lines: BTreeSet<&str> = seen.iter().map(|request| request.head.lines().next().unwrap()).collect();
    assert!(lines.len() == seen.len() && lines.iter().all(|line| log().contains(line)), "{lines:?}");
    let mut posts = seen.iter().filter(|request| request.head.starts_with("POST"));
    assert!(posts.all(|post| post.head.contains("Content-Length: 0")));
}

#[test]
fn requests_come_in_the_order_of_the_log_on_one_connection() {
    let server = Recorder::start();
    let file = tempfile::NamedTempFile::new().unwrap();
    let lines: Vec<String> = (0..200)
        .map(|number| {
            format!(
                "{{\"ts\": {}.{:03}, \"method\": \"PUT\", \"path\": \"/{number}\"}}",
                1_700_000_000 + number / 100,
                number % 100 * 10
            )
        })
        .collect();
    // The file need not be sorted.
    std::fs::write(file.path(), lines.iter().rev().cloned().collect::<Vec<_>>().join("\n")).unwrap();
    let flags = format!(
        "--replay {} --speed 4 -c 1 --body hi -H X-A:1 --no-meter --allow-untrusted --quiet --json -",
        file.path().display()
    );
    let output = load(&server.url(), &flags).output().unwrap();
    assert_code(&output, &[0]);
    let seen = server.take();
    let paths: Vec<String> = seen.iter().map(|request| request.head.split(' ').nth(1).unwrap().to_owned()).collect();
    assert_eq!(paths, (0..seen.len()).map(|number| format!("/{number}")).collect::<Vec<_>>());
    // One that is late at the end, because the machine paused, is not sent and counted as unanswered.
    let result = json(&output);
    let of_log = number(&result, "requests.completed") + number(&result, "requests.unanswered");
    assert!(of_log == 200.0 && number(&result, "requests.completed") <= seen.len() as f64, "{result:#}");
    assert!(seen.iter().all(|request| request.body == "hi" && request.head.contains("X-A: 1")));
}

#[test]
fn the_window_can_be_cut_and_response_times_count_from_the_log() {
    let server = Recorder::start();
    // Whether any of ten requests is answered in a quarter of a second is up to the machine.
    let window = |flags: &str| {
        let output = replay(&server, &log(), &format!("--speed 4 {flags} --quiet --json -"));
        assert_code(&output, &[0, 1]);
        let result = json(&output);
        ["load.warmup_s", "load.measured_s", "requests.offered_rate"].map(|figure| number(&result, figure))
    };
    assert_eq!(window("-d 250ms"), [0.0, 0.25, 160.0]);
    assert_eq!(window("--warmup 250ms -d 250ms"), [0.25, 0.25, 40.0]);
    let said = text(&replay(&server, &log(), "--speed 6"));
    assert!(said.contains("3 lines are no requests, the first is line 41; they are left out"), "{said}");
    assert!(said.contains("14 requests with POST, PUT or PATCH have an empty body"), "{said}");
    assert!(said.contains("70 requests, ") && said.contains("recorded arrivals"), "{said}");
}

#[test]
fn what_contradicts_a_log_is_refused_with_the_remedy() {
    let server = Recorder::start();
    let line = log().lines().next().unwrap().to_owned() + "\n";
    let later = line.replace("10/Oct", "20/Oct");
    for (log, flags, says) in [
        (log(), "-R 100", "-R and --replay"),
        (log(), "--stages 1k@1s", "--stages and --replay"),
        (log(), "--arrival poisson", "--arrival and --replay"),
        (log(), "-n 10", "-n and --replay"),
        (log(), "-X PUT", "-X and --replay"),
        (log(), "--vary 4", "--vary and --replay"),
        (log(), "-d 1m", "-d 1m"),
        (log(), "--warmup 3s", "--warmup 3s"),
        (log(), "--speed 0", "factor"),
        (log(), "http://127.0.0.1:1/", "one URL"),
        (log(), "--speed 0.001 --stages 1@1s", "--stages"),
        (line.clone() + &later, "", "10 days"),
        ("nothing\n".to_owned(), "", "1 lines are no requests"),
    ] {
        let output = replay(&server, &log, flags);
        assert_code(&output, &[2]);
        assert!(text(&output).contains(says), "{flags}: {}", text(&output));
    }
    let output = load(&server.url(), "--speed 2").output().unwrap();
    assert_code(&output, &[2]);
    let output = load("tcp://127.0.0.1:1", "--replay /dev/null").output().unwrap();
    assert_code(&output, &[2]);
    assert_eq!(server.take().len(), 0);
}
