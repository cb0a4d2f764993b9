//! Figures of the server, and the directory of a run.

use crate::shared::target::{Target, json, load, number};
use brunt_testkit::{alone, assert_code, judge};
use serde_json::Value;
use std::fs;

#[test]
fn the_server_is_found_by_its_socket_and_metered() {
    let _alone = alone();
    let target = Target::start();
    let flags = "-d 1s --warmup 100ms -c 4 --json - --quiet --allow-untrusted";
    judge("the cost of a request is CPU time per second divided by requests per second", || {
        let result = json(&load(&target.url(), flags).output().unwrap());
        assert_eq!(number(&result, "server.pid"), f64::from(target.pid()));
        let cpu = number(&result, "server.cpu_user_percent") + number(&result, "server.cpu_system_percent");
        assert!(cpu > 0.0 && number(&result, "server.rss_bytes") > 500e3, "{result:#}");
        // The two windows differ by milliseconds, more on a busy machine; this checks units and sums.
        let share = number(&result, "server.cpu_us_per_request") / (cpu * 1e4 / number(&result, "requests.rate"));
        if (0.6..1.6).contains(&share) { Ok(()) } else { Err(format!("{share}: {result}")) }
    });
    let unmetered = json(&load(&target.url(), &format!("{flags} --no-meter -n 100")).output().unwrap());
    assert_eq!(unmetered["server"]["pid"], Value::Null);
}

#[test]
fn the_directory_holds_the_whole_trial() {
    let _alone = alone();
    let target = Target::start();
    let home = brunt_testkit::home();
    let (out, file) = (home.path().join("a/trial"), home.path().join("r.json"));
    let mut command = load(&target.url(), "-R 400 -d 2200ms --warmup 1s -c 4 --allow-untrusted --quiet");
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
    assert!((3..=4).contains(&series.len()), "{series:#?}");
    assert_eq!(series[0]["warmup"], true);
    let in_window = series.iter().filter(|second| second["warmup"] == false);
    let completed: f64 = in_window.map(|second| second["completed"].as_f64().unwrap()).sum();
    assert_eq!(completed, number(&result, "requests.completed"));
    for figure in ["server_threads", "server_minor_faults_per_s", "host_cpu_percent", "host_loopback_bytes_per_s"] {
        assert!(series[1][figure].is_number(), "{figure}: {:#}", series[1]);
    }
    assert!(series[1]["server_rss_bytes"].is_number() && series[1]["p99_us"].is_number(), "{:#}", series[1]);
    assert!(read("latency.hlog").contains("Tag=response"));
    let names = fs::read_dir(&out).unwrap().count();
    assert_eq!(names, 5, "nothing else is left in the directory");
    assert_eq!(fs::read_dir(home.path()).unwrap().count(), 2, "nothing is left beside the file");
}
