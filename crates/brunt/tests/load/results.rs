//! Output of a run: JSON keys, directory, summary, progress.

use crate::shared::target::{PATIENCE, Run, Target, json, load, number};
use brunt_testkit::{assert_code, text};
use serde_json::Value;
use std::fs;
use std::process::{Command, Output};

/// Every key of the contract in `docs/`, as paths.
const KEYS: [&str; 51] = [
    "schema",
    "measurement_revision",
    "tester",
    "interrupted",
    "verdict.kind",
    "verdict.kinds",
    "verdict.why",
    "verdict.remedy",
    "load.url",
    "load.mode",
    "load.seed",
    "requests.completed",
    "requests.failed",
    "requests.unanswered",
    "requests.abandoned",
    "requests.rate",
    "requests.offered_rate",
    "latency.response.count",
    "latency.response.mean_us",
    "latency.response.p50_us",
    "latency.response.p90_us",
    "latency.response.p95_us",
    "latency.response.p99_us",
    "latency.response.p999_us",
    "latency.response.max_us",
    "latency.service.p99_us",
    "latency.lag.p99_us",
    "latency.error.p99_us",
    "errors.connect",
    "errors.timeout",
    "errors.reset",
    "errors.protocol",
    "errors.status",
    "errors.mismatch",
    "connections.opened",
    "connections.peak",
    "bytes.sent",
    "bytes.received",
    "generator.cpu_percent",
    "generator.cores",
    "generator.thread_cpu_percent",
    "generator.instructions_user_per_request",
    "server.pid",
    "server.cpu_user_percent",
    "server.cpu_system_percent",
    "server.rss_bytes",
    "server.cpu_us_per_request",
    "server.instructions_user_per_request",
    "server.instructions_kernel_per_request",
    "server.cycles_per_request",
    "server.busiest_thread_percent",
];

#[test]
fn the_json_has_the_keys_of_the_contract_and_figures_that_agree() {
    let target = Target::start();
    let flags = "-n 500 -c 5 --size 1KiB --warmup 100ms --seed 7 --json - --quiet --allow-untrusted";
    let output = load(&target.url(), flags).output().unwrap();
    assert_code(&output, &[0]);
    assert!(output.stderr.is_empty(), "{}", text(&output));
    let result = json(&output);
    for key in KEYS {
        let pointer = format!("/{}", key.replace('.', "/"));
        assert!(result.pointer(&pointer).is_some(), "{key} is missing in {result:#}");
    }
    assert_eq!(result["schema"], "brunt.result/1");
    assert_eq!(result["load"]["mode"], "closed");
    assert_eq!(result["requests"]["offered_rate"], Value::Null);
    assert_eq!(number(&result, "load.seed"), 7.0);
    assert_eq!(number(&result, "load.request_bytes"), 1024.0);
    // -n is exact.
    assert_eq!(number(&result, "requests.completed"), 500.0);
    assert_eq!(number(&result, "requests.failed"), 0.0);
    assert_eq!(number(&result, "connections.opened"), 5.0);
    assert!(number(&result, "bytes.received") >= 500.0 * 1024.0);
    let rate = number(&result, "requests.completed") / number(&result, "load.measured_s");
    assert!((number(&result, "requests.rate") / rate - 1.0).abs() < 0.01, "{result:#}");
}

#[test]
fn an_unwritable_path_is_an_error_before_the_load() {
    for (flag, place) in [("--out", "/proc/brunt/trial"), ("--json", "/proc/brunt.json")] {
        // Nothing listens there: a started load would report another error.
        let output = load("tcp://127.0.0.1:9", "-d 5s --quiet").args([flag, place]).output().unwrap();
        assert_code(&output, &[1]);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(stderr.starts_with(&format!("error: cannot write to {place}")), "{stderr}");
        assert_eq!(stderr.lines().count(), 1, "{stderr}");
    }
}

#[test]
fn the_page_names_the_kind_of_loop_and_has_dashes_for_unknown_figures() {
    let target = Target::start();
    let page = |flags: &str| {
        let output = load(&target.url(), &format!("--warmup 0s --allow-untrusted {flags}")).output().unwrap();
        assert_code(&output, &[0]);
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    let row = |page: &str, name: &str| {
        let line = page.lines().find(|line| line.trim_start().starts_with(name));
        line.unwrap_or_else(|| panic!("no row {name} in\n{page}")).to_owned()
    };
    let (closed, progress) = page("-n 200 -c 2 --latency");
    assert!(closed.contains("closed loop") && closed.contains("Little's law"), "{closed}");
    // 200 values: 10 beyond p95, 2 beyond p99.
    let cells: Vec<String> = row(&closed, "response").split("  ").map(|c| c.trim().to_owned()).collect();
    let cells: Vec<&String> = cells.iter().filter(|cell| !cell.is_empty()).collect();
    assert_eq!(cells.len(), 8, "{closed}");
    let is_known: Vec<bool> = cells[1..].iter().map(|cell| *cell != "-").collect();
    assert_eq!(is_known, [true, true, true, true, false, false, true], "{closed}");
    assert!(row(&closed, "requests").contains("200 completed, 0 failed"));
    assert!(row(&closed, "server").contains(&format!("pid {}", target.pid())));
    assert!(row(&closed, "cost").contains("CPU/request"));
    assert!(closed.contains("percentiles of the response time"));
    assert!(progress.contains("closed loop") && progress.contains(&target.port().to_string()), "{progress}");
    let (open, _) = page("-R 500 -n 100 -c 2 --arrival poisson");
    assert!(open.contains("open loop, poisson arrivals") && !open.contains("Little"), "{open}");
}

#[test]
fn a_name_with_several_addresses_finds_the_one_that_listens() {
    let target = Target::start();
    let url = format!("tcp://localhost:{}", target.port());
    let output = load(&url, "-n 10 --warmup 0s -c 1 --quiet --allow-untrusted --no-meter").output().unwrap();
    assert_code(&output, &[0]);
}

#[test]
fn a_missing_process_cannot_be_metered() {
    let target = Target::start();
    let output = load(&target.url(), "-n 10 --quiet --server-pid 1073741824").output().unwrap();
    assert_code(&output, &[1]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.contains("--server-pid 1073741824"), "{stderr}");
}

#[test]
fn calibrations_that_cannot_be_made_or_stored_are_errors_before_the_load() {
    let home = brunt_testkit::home();
    let file = home.path().join("file");
    fs::write(&file, "").unwrap();
    // Nothing listens there: a started load would fail.
    let output = load("tcp://127.0.0.1:9", "--calibrate").env("BRUNT_STATE_DIR", file.join("state")).output().unwrap();
    assert_code(&output, &[1]);
    assert!(text(&output).contains("file/state"), "{}", text(&output));
    let script = home.path().join("script.lua");
    fs::write(&script, "").unwrap();
    let flags = format!("--calibrate --script {}", script.display());
    let output = load("http://127.0.0.1:9/", &flags).env("BRUNT_STATE_DIR", home.path()).output().unwrap();
    assert_code(&output, &[2]);
    assert!(text(&output).contains("--calibrate and --script"), "{}", text(&output));
}

#[test]
fn a_page_of_the_load_is_written_and_can_be_read_again() {
    let (target, home) = (Target::start(), brunt_testkit::home());
    let page = home.path().join("today.html").display().to_string();
    let flags = format!("-n 200 -c 1 --warmup 0s --no-meter --allow-untrusted --quiet --html {page}");
    let output = load(&target.url(), &flags).output().unwrap();
    assert_code(&output, &[0]);
    assert_eq!(String::from_utf8_lossy(&output.stderr), format!("page: {page}\n"));
    let again = Command::new(env!("CARGO_BIN_EXE_brunt")).args(["report", &page]).output().unwrap();
    assert_eq!(text(&again), text(&Output { stderr: Vec::new(), ..output }));
    let output = load(&target.url(), "-n 1 --html /no/such/folder.html").output().unwrap();
    assert_code(&output, &[2]);
    assert!(
        output.stdout.is_empty() && text(&output).contains("cannot write to /no/such/folder.html"),
        "{}",
        text(&output)
    );
}

#[test]
fn a_number_of_requests_ends_a_load_that_fails() {
    let target = Target::start_web();
    // Not what was sent.
    let output = load(&target.url(), "-n 20 -c 2 -T 200ms --warmup 0s --no-meter --json - --quiet").output().unwrap();
    assert_code(&output, &[1]);
    let result = json(&output);
    assert_eq!((number(&result, "requests.completed"), number(&result, "requests.failed")), (0.0, 20.0));
}

#[test]
fn a_number_of_requests_ends_a_load_whose_target_is_gone() {
    let mut target = Target::start();
    let run = Run::start(load(&target.url(), "-n 100M -c 2 --warmup 0s --json -"));
    target.until_asked();
    drop(target);
    let began = run.began;
    let output = run.end();
    assert!(began.elapsed() < PATIENCE, "{}", text(&output));
    assert_code(&output, &[1]);
    assert_eq!(json(&output)["interrupted"], true);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("\nno connection for 10 s: the rest of -n is not sent"), "{said}");
}

#[test]
fn the_directory_holds_the_whole_trial() {
    let target = Target::start();
    let home = brunt_testkit::home();
    let (out, file) = (home.path().join("a/trial"), home.path().join("r.json"));
    let mut command = load(&target.url(), "-R 400 -d 1100ms --warmup 300ms -c 4 --allow-untrusted --quiet");
    let output = command.arg("--out").arg(&out).arg("--json").arg(&file).output().unwrap();
    assert_code(&output, &[0]);
    let read = |name: &str| fs::read_to_string(out.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    let result: Value = serde_json::from_str(&read("result.json")).unwrap();
    assert_eq!(result, serde_json::from_str::<Value>(&fs::read_to_string(&file).unwrap()).unwrap());
    assert_eq!(number(&result, "requests.offered_rate"), 400.0);
    let env: Value = serde_json::from_str(&read("env.json")).unwrap();
    assert!(env["command"].as_array().unwrap().iter().any(|word| word == "400"), "{env:#}");
    assert!(env["binary_hash"].is_string() && env["kernel"].is_string(), "{env:#}");
    let hashes = env["source_hashes"].as_object().unwrap();
    let words: Vec<String> = hashes.iter().map(|(name, hash)| format!("{name}={}", hash.as_str().unwrap())).collect();
    assert_eq!(words.join(" "), env!("BRUNT_SOURCE_HASHES"));
    // Every null has a reason.
    for part in ["server", "host", "generator"] {
        for (figure, value) in result[part].as_object().unwrap() {
            let reason = env["absent"].get(format!("{part}.{figure}"));
            assert_eq!(value.is_null(), reason.is_some(), "{part}.{figure}: {value}, {reason:?}");
        }
    }
    let series: Vec<Value> = read("series.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(series[0]["warmup"], true);
    let in_window: Vec<&Value> = series.iter().filter(|second| second["warmup"] == false).collect();
    let completed: f64 = in_window.iter().map(|second| second["completed"].as_f64().unwrap()).sum();
    assert_eq!(completed, number(&result, "requests.completed"));
    for figure in ["server_threads", "server_minor_faults_per_s", "host_cpu_percent", "host_loopback_bytes_per_s"] {
        assert!(in_window[0][figure].is_number(), "{figure}: {:#}", in_window[0]);
    }
    assert!(in_window[0]["server_rss_bytes"].is_number() && in_window[0]["p99_us"].is_number(), "{:#}", in_window[0]);
    assert!(read("latency.hlog").contains("Tag=response"));
    let names = fs::read_dir(&out).unwrap().count();
    assert_eq!(names, 5, "nothing else is left in the directory");
    assert_eq!(fs::read_dir(home.path()).unwrap().count(), 2, "nothing is left beside the file");
}
