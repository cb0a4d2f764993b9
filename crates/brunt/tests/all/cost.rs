//! `brunt cost` against real servers: files, exit codes and results. Which costs it finds is for given time (`lab::cost`) and for
//! `--test timing`.

use crate::shared::server::Server;
use brunt_testkit::{Running, Signal, assert_code, free_port, told, until};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// `brunt serve echo`, killed at the end of the test.
fn server(flags: &str) -> Server {
    let mut command = Command::new(env!("CARGO_BIN_EXE_brunt"));
    command.args(["serve", "echo", "--listen", "127.0.0.1:0", "--model", "epoll"]).args(flags.split_whitespace());
    Server::start(command)
}

fn url(server: &Server) -> String {
    format!("tcp://{}", server.address())
}

fn cost(home: &Path, urls: &[&str], flags: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_brunt"));
    command.current_dir(home).env("BRUNT_STATE_DIR", "state").arg("cost").args(urls).args(flags.split_whitespace());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn json(path: &Path) -> serde_json::Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

/// A short measurement. Whether it is precise is up to the machine.
const SHORT: &str = "--rates 100,400 -c 2 --slice 50ms -d 1s --precision 50%";
const ANY: [i32; 2] = [0, 3];

#[test]
fn a_measurement_prints_both_terms_and_leaves_slices_picture_and_page() {
    let (home, one, other) = (brunt_testkit::home(), server(""), server("--standing 100us@1kHz"));
    let (one, other) = (url(&one), url(&other));
    let output = cost(home.path(), &[&one, &other], SHORT).output().unwrap();
    assert_code(&output, &ANY);
    let [stdout, stderr] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    for part in [
        &one,
        &other,
        "CPU time a second = standing + marginal x rate",
        "two rates: there is always a line",
        "slices of 50ms: as --slice asks",
        "from the cheapest on: ",
        "note: one start of each server was measured",
        "measured on: ",
    ] {
        assert!(stdout.contains(part), "{part}: {stdout}");
    }
    assert_eq!(stderr, "results: runs/cost, the page runs/cost/report.html\n");
    let out = home.path().join("runs/cost");
    let report = json(&out.join("cost.json"));
    let targets = report["targets"].as_array().unwrap();
    assert_eq!(targets.iter().map(|target| &target["target"]).collect::<Vec<_>>(), [&one, &other]);
    for target in targets {
        let points = target["points"].as_array().unwrap();
        assert_eq!(points.iter().map(|point| point["rate"].as_f64().unwrap()).collect::<Vec<_>>(), [100.0, 400.0]);
        assert!(points.iter().all(|point| point["cost_us"]["value"].as_f64() > Some(0.0)), "{report}");
    }
    let lines = fs::read_to_string(out.join("slices.jsonl")).unwrap();
    let slices = report["rounds"].as_u64().unwrap() + report["void"].as_u64().unwrap();
    assert_eq!(lines.lines().count() as u64, 4 * slices);
    for line in lines.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()) {
        let window = line["window_us"].as_u64().unwrap();
        assert!((46_000..47_000).contains(&window), "all slices have one length: {line}");
        assert!(line["span_us"].as_f64() >= Some(50e3), "{line}");
    }
    let page = fs::read_to_string(out.join("report.html")).unwrap();
    assert!(page.contains("<svg role=\"img\"") && page.contains("<code>brunt cost tcp://"), "{page}");
    assert!(fs::read_to_string(out.join("cost.svg")).unwrap().contains("CPU, over the rate"));
    // A target at a rate is a trial of the index.
    let mut list = Command::new(env!("CARGO_BIN_EXE_brunt"));
    list.current_dir(home.path()).env("BRUNT_STATE_DIR", "state");
    let output = list.args(["list", "--trials", "--plan", "cost", "--json", "--where", "cost>0us"]).output().unwrap();
    let trials: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let trials: Vec<_> =
        trials.as_array().unwrap().iter().map(|trial| (&trial["target"], &trial["combination"])).collect();
    assert_eq!(trials.len(), 4, "{trials:?}");
    assert!(trials.iter().any(|(target, rate)| **target == *one && **rate == "rate=400"), "{trials:?}");
    // The next one has a directory of its own, and prints the file.
    let output = cost(home.path(), &[&one], &format!("{SHORT} --quiet --json --html page.html")).output().unwrap();
    assert_code(&output, &ANY);
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "page: page.html\n");
    let printed: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(printed, json(&home.path().join("runs/cost-2/cost.json")));
    assert_eq!(
        fs::read_to_string(home.path().join("page.html")).unwrap(),
        fs::read_to_string(home.path().join("runs/cost-2/report.html")).unwrap()
    );
    let output = cost(home.path(), &[&one], &format!("{SHORT} --out runs/cost")).output().unwrap();
    let (_, stderr) = told(&output, 2);
    assert!(stderr.contains("runs/cost holds another measurement: --out DIR"), "{stderr}");
}

#[test]
fn a_target_that_does_not_answer_is_named_beside_the_others() {
    let (home, one) = (brunt_testkit::home(), server(""));
    let (one, gone) = (url(&one), format!("tcp://127.0.0.1:{}", free_port()));
    let (stdout, _) = told(&cost(home.path(), &[&one, &gone], &format!("{SHORT} --quiet")).output().unwrap(), 1);
    let line = stdout.lines().find(|line| line.contains(&gone)).unwrap();
    assert!(line.contains("refused"), "{stdout}");
    assert!(stdout.contains(&format!("{one}  ")), "{stdout}");
    let (stdout, stderr) = told(&cost(home.path(), &[&gone], &format!("{SHORT} --quiet")).output().unwrap(), 1);
    assert!(stdout.is_empty() && stderr.starts_with(&format!("error: {gone}: ")), "{stderr}");
}

#[test]
fn rates_may_be_shares_of_a_peak() {
    let (home, one) = (brunt_testkit::home(), server("--work sleep=10ms"));
    let flags = "--rates auto -c 2 --slice 50ms -d 1s --precision 50% --quiet --json";
    let output = cost(home.path(), &[&url(&one)], flags).output().unwrap();
    assert_code(&output, &ANY);
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let rates: Vec<f64> = report["targets"][0]["points"]
        .as_array()
        .unwrap()
        .iter()
        .map(|point| point["rate"].as_f64().unwrap())
        .collect();
    // Two connections, on each of which a reply takes 10 ms and more: at most 200 a second.
    assert!(rates.len() == 5 && rates.is_sorted() && rates[4] <= 150.0 && rates[0] > 0.0, "{rates:?}");
    let note = report["notes"][0].as_str().unwrap();
    assert!(note.ends_with("in a closed loop"), "{note}");
}

#[test]
fn ctrl_c_keeps_what_was_measured() {
    let (home, one) = (brunt_testkit::home(), server(""));
    let flags = "--rates 100,400 -c 2 --slice 50ms -d 10m --precision 0.1% --quiet --out here";
    let running = Running::start(&mut cost(home.path(), &[&url(&one)], flags));
    let slices = home.path().join("here/slices.jsonl");
    until("two rounds are made", || fs::read_to_string(&slices).is_ok_and(|lines| lines.lines().count() >= 4));
    running.signal(Signal::INT);
    let (stdout, _) = told(&running.output(), 3);
    assert!(stdout.contains("CPU time a second = standing + marginal x rate"), "{stdout}");
    assert!(stdout.contains("note: imprecise: "), "{stdout}");
    assert!(home.path().join("here/cost.json").exists());
}
