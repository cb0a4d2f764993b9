//! How a run ends: exit codes, signals, targets that go away.

use crate::shared::target::{PATIENCE, Run, Target, json, load, number, pass};
use brunt_testkit::{Signal, assert_code, judge, listener, text};
use std::os::unix::process::ExitStatusExt;
use std::{fs, path::Path, time::Duration};

#[test]
fn a_refused_target_is_one_line_and_exit_1() {
    let port = listener().local_addr().unwrap().port();
    let output = load(&format!("tcp://127.0.0.1:{port}"), "-d 5s --quiet").output().unwrap();
    assert_code(&output, &[1]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
    assert!(stderr.starts_with("error: ") && stderr.contains(&port.to_string()), "{stderr}");
    assert!(output.stdout.is_empty());
}

#[test]
fn a_crossed_bound_is_exit_99_and_named() {
    let target = Target::start();
    let flags = "-n 200 --warmup 0s -c 2 --allow-untrusted --quiet";
    let crossed =
        load(&target.url(), flags).args(["--fail-if", "p50>1us,p50>1h30m", "--fail-if", "failed>1M"]).output().unwrap();
    assert_code(&crossed, &[99]);
    let stderr = String::from_utf8_lossy(&crossed.stderr);
    assert!(stderr.contains("p50>1us") && !stderr.contains("failed>1M"), "{stderr}");
    let kept = load(&target.url(), flags).args(["--fail-if", "p50>10s"]).output().unwrap();
    assert_code(&kept, &[0]);
}

#[test]
fn an_untrusted_result_is_exit_3_unless_allowed() {
    let target = Target::start();
    // 20 requests have no 99th percentile.
    let flags = "-R 200 -d 100ms --warmup 0s -c 1 --quiet";
    let output = load(&target.url(), flags).output().unwrap();
    assert_code(&output, &[3]);
    let stdout = String::from_utf8_lossy(&output.stdout);
    // On a busy machine the verdict may have a graver name; every issue is listed.
    assert!(stdout.contains("p99 needs 1000 requests"), "{stdout}");
    let allowed = load(&target.url(), &format!("{flags} --allow-untrusted")).output().unwrap();
    assert_code(&allowed, &[0]);
    let every = "too-few-samples,disturbed,not-stationary,rate-missed,throttled,client-limited";
    for (kinds, code) in [(every, 0), ("rate-missed", 3)] {
        assert_code(&load(&target.url(), &format!("{flags} --allow {kinds}")).output().unwrap(), &[code]);
    }
    let errors = load(&target.url(), &format!("{flags} --allow disturbed,errors")).output().unwrap();
    assert_code(&errors, &[2]);
    assert!(String::from_utf8_lossy(&errors.stderr).contains("--fail-if 'errors>0.1%'"), "{}", text(&errors));
}

#[test]
fn failed_requests_are_exit_1_unless_a_bound_accepts_them() {
    let target = Target::start_web();
    let failing = target.http("/status/404");
    for (flags, code) in [
        ("--allow-untrusted", 1),
        ("--allow-untrusted --fail-if failed>60", 0),
        ("--allow-untrusted --fail-if failed>40", 99),
        ("--accept-any-result --fail-if failed>40", 0),
    ] {
        let output = load(&failing, &format!("-n 50 --warmup 0s -c 2 --quiet --no-meter {flags}")).output().unwrap();
        assert_code(&output, &[code]);
        let stderr = String::from_utf8_lossy(&output.stderr);
        let said = stderr.starts_with("error: 50 of 50 requests failed (50 status); ") && stderr.contains("--fail-if");
        assert_eq!(said, code == 1, "{stderr}");
        assert_eq!(json_verdict(&output), "errors", "{}", text(&output));
    }
    // No bound on what none of them has, and one on what half of them have.
    for (more, code) in [(vec![], 99), (vec![target.http("/")], 1)] {
        let mut bound = load(&failing, "-n 50 --warmup 0s -c 2 --quiet --no-meter --allow-untrusted --fail-if p50>10s");
        assert_code(&bound.args(more).output().unwrap(), &[code]);
    }
    // Half of them are answered, too few for a p99: a doubt that a bound on failures leaves.
    let mut half = load(&failing, "-R 100 -d 500ms --warmup 0s -c 2 --quiet --no-meter --fail-if failed>60");
    assert_code(&half.arg(target.http("/")).output().unwrap(), &[3]);
}

/// The verdict on the page of a run.
fn json_verdict(output: &std::process::Output) -> String {
    let page = String::from_utf8_lossy(&output.stdout);
    page.lines().find_map(|line| line.trim().strip_prefix("verdict")).unwrap_or_default().trim().to_owned()
}

#[test]
fn more_threads_than_cores_are_noted() {
    let target = Target::start();
    let cores = brunt_meter::affinity::allowed().unwrap().len();
    let run = |threads: usize| {
        let output =
            load(&target.url(), &format!("-t {threads} -n 1000 --warmup 0s --allow-untrusted")).output().unwrap();
        assert_code(&output, &[0]);
        String::from_utf8_lossy(&output.stderr).contains(&format!("note: -t {threads} on {cores} core"))
    };
    assert!(run(cores + 1) && !run(cores));
}

#[test]
fn ctrl_c_ends_early_and_keeps_what_was_measured() {
    let home = brunt_testkit::home();
    for (trial, name, rate) in [(1, Signal::INT, ""), (2, Signal::TERM, "-R 2k")] {
        let mut target = Target::start();
        let out = home.path().join(trial.to_string());
        let mut command = load(&target.url(), &format!("{rate} -d 600s --warmup 0s -c 4 --json - --quiet --out"));
        command.arg(&out);
        let run = Run::start(command);
        target.until_answered();
        run.signal(name);
        let began = run.began;
        let output = run.end();
        let took = began.elapsed();
        assert!(took < PATIENCE, "{took:?}");
        assert_code(&output, &[0, 3]);
        let result = json(&output);
        assert_eq!(result["interrupted"], true);
        let (measured, completed) = (number(&result, "load.measured_s"), number(&result, "requests.completed"));
        assert!(completed > 0.0 && measured > 0.0 && measured < took.as_secs_f64(), "{measured} of {took:?}");
        let answered = number(&result, "requests.rate") * measured;
        assert!((answered - completed).abs() < 1.0, "{answered}: {}", text(&output));
        ends_no_earlier_than_its_last_reply(&out, completed);
    }
}

/// The seconds add up, and none has more replies than requests were due by its end, the last one included.
fn ends_no_earlier_than_its_last_reply(out: &Path, completed: f64) {
    let series = fs::read_to_string(out.join("series.jsonl")).unwrap();
    let (mut due, mut answered) = (0, 0);
    for second in series.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()) {
        answered += second["completed"].as_u64().unwrap();
        due += second["offered"].as_u64().unwrap_or(answered);
        assert!(answered <= due, "{answered} of {due} due: {series}");
    }
    assert_eq!(answered as f64, completed, "{series}");
}

#[test]
fn ctrl_c_in_the_warm_up_ends_at_once() {
    let mut target = Target::start();
    let run = Run::start(load(&target.url(), "-d 600s --warmup 600s -c 4 --quiet"));
    target.until_asked();
    run.signal(Signal::INT);
    let began = run.began;
    let output = run.end();
    assert!(began.elapsed() < PATIENCE, "{}", text(&output));
    assert_code(&output, &[1, 3]);
    assert!(!String::from_utf8_lossy(&output.stderr).contains("panicked"), "{}", text(&output));
    // No window, no share of it.
    assert!(text(&output).contains("  generator   CPU -\n"), "{}", text(&output));
}

#[test]
fn a_second_ctrl_c_does_not_wait_for_a_stopped_target() {
    let killed = || {
        let mut target = Target::start();
        let run = Run::start(load(&target.url(), "-d 600s --warmup 100ms -c 4 -T 30s --quiet"));
        target.until_asked();
        target.signal(Signal::STOP);
        // Two pending signals coalesce.
        while !run.is_over() {
            assert!(run.began.elapsed() < PATIENCE, "no signal ends it");
            run.signal(Signal::INT);
            pass(Duration::from_millis(100), "the signal has been seen");
        }
        run.end().status.signal() == Some(2)
    };
    // The run waits up to a second for its last replies; a busy machine may delay the second signal longer.
    judge("a second signal ends it", || if killed() { Ok(()) } else { Err("it ended by the first one".to_owned()) });
}

#[test]
fn the_end_of_the_target_is_the_error_and_the_load_goes_on() {
    let mut target = Target::start();
    let flags = "-R 500 -d 600s --warmup 0s -c 8 --json - --allow-untrusted";
    let mut run = Run::start(load(&target.url(), flags));
    target.until_answered();
    target.signal(Signal::KILL);
    run.line_after(" s: errors: ");
    assert!(!run.is_over());
    run.signal(Signal::INT);
    let began = run.began;
    let output = run.end();
    assert_code(&output, &[1]);
    let result = json(&output);
    assert_eq!(result["verdict"]["kind"], "errors", "{result:#}");
    let why: Vec<&str> = result["verdict"]["why"].as_array().unwrap().iter().filter_map(|why| why.as_str()).collect();
    let after =
        why[0].strip_prefix(&format!("server pid {} exited after ", target.pid())).unwrap_or_else(|| panic!("{why:?}"));
    let after: f64 = after.strip_suffix(" s").unwrap().parse().unwrap();
    assert!(after <= began.elapsed().as_secs_f64() + 0.05, "{after}");
    // Whether some are without an answer at the end depends on when that is.
    let lost =
        ["reset", "closed", "connect"].map(|kind| number(&result, &format!("errors.{kind}"))).iter().sum::<f64>();
    let unanswered = number(&result, "requests.abandoned");
    let failed = number(&result, "requests.failed");
    let said = format!(
        "{} of {} requests, and {} connection",
        failed + unanswered,
        number(&result, "requests.due"),
        lost - failed
    );
    assert!(why[1].replace(", and", " and").replace(',', "").starts_with(&said.replace(',', "")), "{said}: {why:?}");
    assert_eq!(why[1].contains(" unanswered)"), unanswered > 0.0, "{why:?}");
    assert!(why.iter().all(|why| !why.contains("offered")), "{why:?}");
    assert!(lost > 0.0 && number(&result, "requests.completed") > 0.0, "{result:#}");
    // A server that has exited has no cost.
    assert_eq!(result["server"]["cpu_us_per_request"], serde_json::Value::Null);
}
