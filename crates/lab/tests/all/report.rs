//! Reports of hand-made result directories, compared with golden files.

use crate::common::golden;
use crate::common::model::experiment;
use crate::common::summary::summary;
use brunt_lab::plan::{Style, read};
use brunt_lab::report::{self, Width};
use brunt_lab::run_directory::{Experiment, Failure, RunDirectory, SCHEMA};
use brunt_lab::schedule::{Machine, cells};
use brunt_results::RunResult;
use brunt_results::directory::Directory;
use brunt_results::env::Env;
use brunt_results::judge::judge;
use brunt_results::result::{self, Latency, Requests, Server};
use std::{collections::BTreeMap, fs, io, path::Path};

fn render(dir: &Path) -> io::Result<String> {
    Ok(report::markdown(&report::read(dir)?, Style::Plain))
}

const PLAN: &str = r#"
name = "made-by-hand"
description = "two servers, two sizes"
[load]
connections = 80
[sweep]
size = ["100B", "1KiB"]
rate = ["max", "20k"]
[[target]]
name = "uring"
command = ["sh", "{port}"]
[[target]]
name = "epoll"
command = ["sh", "{port}"]
[[target]]
name = "go"
needs = ["go"]
command = ["sh", "{port}"]
"#;

/// A result with this rate in thousands.
fn trial(thousands: f64, offered_rate: Option<f64>) -> RunResult {
    let count = (thousands * 3000.0) as u64;
    let p50 = 80_000.0 / thousands;
    let mut result = RunResult {
        load: result::Load { measured_s: 3.0, ..Default::default() },
        requests: Requests { completed: count, rate: thousands * 1e3, offered_rate, ..Default::default() },
        latency: Latency { response: summary(count, p50), service: summary(count, p50), ..Default::default() },
        server: Server {
            cpu_user_percent: Some(thousands / 10.0),
            cpu_system_percent: Some(thousands / 2.0),
            rss_bytes: Some(5 << 20),
            cpu_us_per_request: Some(6.0),
            instructions_user_per_request: None,
            ..Default::default()
        },
        ..RunResult::new("brunt")
    };
    result.verdict = judge(&result, None);
    result
}

fn write(store: &RunDirectory, cell: &str, repeat: u32, result: &RunResult) {
    let directory = Directory::create(store.trial(cell, repeat)).unwrap();
    let env = Env {
        brunt: "0.1.0".into(),
        binary_hash: Some("00c0ffee".into()),
        kernel: Some("Linux 6.18.0".into()),
        cpu: Some("A CPU".into()),
        cpus_online: Some(2),
        memory_bytes: Some(8 << 30),
        clock_source: Some("tsc".into()),
        absent: BTreeMap::from([("server.instructions_user_per_request".into(), "no such counter".into())]),
        ..Default::default()
    };
    directory.write_env(&env).unwrap();
    directory.write_result(result).unwrap();
}

/// A run with good, invalid, failed and missing repeats and a skipped target.
fn made_by_hand(home: &Path) -> RunDirectory {
    let store = RunDirectory::at(home.join("run"));
    let _lock = store.open().unwrap();
    let plan = read("p", PLAN).unwrap();
    let missing = BTreeMap::from([("go".to_owned(), "needs 'go', which is not on PATH".to_owned())]);
    let cells = cells(&plan, &Machine { cores: vec![0, 1], open_files: 1 << 20 }, &missing);
    let trials = |cell: &brunt_lab::schedule::Cell| {
        (1..=3).map(move |repeat| format!("{}/{repeat}", cell.id())).collect::<Vec<_>>()
    };
    let experiment = Experiment {
        description: plan.description.clone(),
        command: vec!["brunt".into(), "run".into(), "p.toml".into()],
        order: cells.run.iter().flat_map(trials).collect(),
        ..experiment(&plan.name, 3, cells)
    };
    store.begin(&experiment, PLAN).unwrap();
    for (target, thousands) in [("uring", 120.0), ("epoll", 100.0)] {
        for size in ["100B", "1KiB"] {
            for (repeat, factor) in [(1, 1.0), (2, 1.05), (3, 0.97)] {
                let slow = if size == "1KiB" { 0.5 } else { 1.0 };
                write(
                    &store,
                    &format!("target={target},size={size},rate=max"),
                    repeat,
                    &trial(thousands * factor * slow, None),
                );
                write(&store, &format!("target={target},size={size},rate=20k"), repeat, &trial(20.0, Some(20e3)));
            }
        }
    }
    // One repeat missed its rate, one failed, one is missing, one has too few requests for its p99.9.
    write(&store, "target=epoll,size=1KiB,rate=20k", 2, &trial(15.0, Some(20e3)));
    let failed = store.trial("target=uring,size=1KiB,rate=max", 3);
    fs::remove_dir_all(&failed).unwrap();
    let failure = Failure { why: "the target ended with status 1 under load".into(), log: vec!["panic: a | b".into()] };
    Directory::create(failed).unwrap().write_json("failed.json", &failure).unwrap();
    fs::remove_dir_all(store.trial("target=epoll,size=100B,rate=max", 1)).unwrap();
    for repeat in 1..=3 {
        write(&store, "target=uring,size=100B,rate=20k", repeat, &trial(2.0, Some(2e3)));
    }
    store
}

#[test]
fn reports_equal_the_golden_files() {
    let home = brunt_testkit::home();
    let store = made_by_hand(home.path());
    golden("report.md", &render(store.path()).unwrap());
    let read = report::read(store.path()).unwrap();
    golden("report.txt", &report::text(&read, Style::Plain, Width::Within(None)));
    golden("wide.txt", &report::text(&read, Style::Plain, Width::Wide));
    assert_eq!((read.failed(), read.not_run, read.is_trusted()), (1, 1, true));
}

#[test]
fn a_plan_can_ask_for_the_best_of_an_axis() {
    let home = brunt_testkit::home();
    let store = made_by_hand(home.path());
    let mut experiment = store.experiment().unwrap().unwrap();
    experiment.best_over = Some("rate".into());
    store.begin(&experiment, PLAN).unwrap();
    let text = report::text(&report::read(store.path()).unwrap(), Style::Plain, Width::Wide);
    let best = text.split("Every cell").next().unwrap();
    let rows: Vec<&str> = best.lines().filter(|line| line.contains("uring") || line.contains("epoll")).collect();
    // One row per size and target, at its peak, grouped by size.
    assert_eq!(rows.len(), 4, "{best}");
    let expected = [("uring", "120.0"), ("epoll", "101.0"), ("uring", "61.5"), ("epoll", "50.0")];
    for (row, (target, rate)) in rows.iter().zip(expected) {
        assert!(row.contains(target) && row.contains(rate), "{row}");
    }
}

/// The machine's speed varies over the repeats; the ratio of two targets within one does not.
#[test]
fn a_baseline_is_compared_repeat_by_repeat() {
    let home = brunt_testkit::home();
    let store = made_by_hand(home.path());
    let mut experiment = store.experiment().unwrap().unwrap();
    experiment.baseline = Some("epoll".into());
    store.begin(&experiment, PLAN).unwrap();
    for (repeat, speed) in [(1, 1.0), (2, 0.6), (3, 0.8)] {
        for (target, rate) in [("uring", 110.0), ("epoll", 100.0)] {
            let name = format!("target={target},size=1KiB,rate=max");
            let _ = fs::remove_dir_all(store.trial(&name, repeat));
            write(&store, &name, repeat, &trial(rate * speed, None));
        }
    }
    let read = report::read(store.path()).unwrap();
    let of = |target: &str, size: &str| {
        let id = format!("target={target},size={size},rate=max");
        read.rows.iter().find(|row| row.cell.id() == id).unwrap().against_baseline.unwrap()
    };
    let ratio = of("uring", "1KiB");
    assert!([ratio.low, ratio.median, ratio.high].iter().all(|ratio| (ratio - 1.1).abs() < 1e-9), "{ratio:?}");
    assert_eq!(of("epoll", "100B").median, 1.0);
    let text = report::text(&read, Style::Plain, Width::Within(None));
    assert!(
        text.contains("x1.100 [1.100 1.100]") && text.contains("x baseline: throughput relative to epoll"),
        "{text}"
    );
}

#[test]
fn a_narrow_terminal_hides_columns_and_says_so() {
    let home = brunt_testkit::home();
    let read = report::read(made_by_hand(home.path()).path()).unwrap();
    let wide = report::text(&read, Style::Plain, Width::Wide);
    let narrow = report::text(&read, Style::Plain, Width::Within(Some(60)));
    assert!(wide.contains("service") && !wide.contains("left out"));
    assert!(narrow.contains("1 column left out to fit: --wide"), "{narrow}");
    // The table follows two title lines and an empty one.
    let table = narrow.split("\n\n").nth(1).unwrap();
    assert!(table.lines().all(|line| line.chars().count() <= 60), "{narrow}");
    assert!(["target", "req/s", "verdict"].iter().all(|name| table.contains(name)), "{table}");
}

#[test]
fn results_of_two_binaries_are_not_shown_as_one() {
    let home = brunt_testkit::home();
    let store = made_by_hand(home.path());
    assert!(!render(store.path()).unwrap().contains("NOT all"));
    let other = Directory::open(store.trial("target=epoll,size=1KiB,rate=max", 1));
    let mut env = other.read_env().unwrap();
    env.binary_hash = Some("0000beef".into());
    other.write_env(&env).unwrap();
    assert!(render(store.path()).unwrap().contains("NOT all run under the same conditions"));
}

#[test]
fn the_foot_names_the_sources_of_each_program() {
    let home = brunt_testkit::home();
    let store = made_by_hand(home.path());
    for (cell, hash) in
        [("target=epoll,size=1KiB,rate=max", "00000001"), ("target=uring,size=1KiB,rate=max", "00000002")]
    {
        let directory = Directory::open(store.trial(cell, 1));
        let hashes = ["runtime", "serve", "stress"].map(|name| (name.to_owned(), hash.to_owned()));
        let env = Env { source_hashes: Some(hashes.into()), ..directory.read_env().unwrap() };
        directory.write_env(&env).unwrap();
    }
    let page = report::markdown(&report::read(store.path()).unwrap(), Style::Plain);
    let named: Vec<&str> = page.lines().filter(|line| line.starts_with("- Source hashes: ")).collect();
    let expected = ["1", "2"].map(|n| format!("- Source hashes: runtime 0000000{n}, serve 0000000{n}"));
    assert_eq!(named, expected, "without the crate of co-runners, of which there are none");
}

#[test]
fn an_interrupted_result_does_not_count() {
    let home = brunt_testkit::home();
    let store = made_by_hand(home.path());
    let cell = "target=epoll,size=1KiB,rate=max";
    let mut result = trial(50.0, None);
    result.interrupted = true;
    write(&store, cell, 1, &result);
    assert!(!store.is_done(cell, 1));
    assert_eq!(report::read(store.path()).unwrap().not_run, 2);
}

#[test]
fn a_directory_without_a_run_is_an_error() {
    let home = brunt_testkit::home();
    let error = render(home.path()).unwrap_err().to_string();
    assert!(error.contains("holds no run"), "{error}");
    fs::write(home.path().join("experiment.json"), "{ half").unwrap();
    let error = render(home.path()).unwrap_err().to_string();
    assert!(error.contains("experiment.json"), "{error}");
}

/// A run of one cell with these rates in thousands, one per repeat.
fn repeated(home: &Path, thousands: &[f64]) -> RunDirectory {
    let store = RunDirectory::at(home.join("run"));
    let _lock = store.open().unwrap();
    let text = "name = 'r'\n[load]\nconnections = 8\n[[target]]\nname = 'x'\ncommand = ['sh', '{port}']\n";
    let cells = cells(&read("p", text).unwrap(), &Machine { cores: vec![0, 1], open_files: 1 << 20 }, &BTreeMap::new());
    let order = (1..=thousands.len()).map(|repeat| format!("target=x/{repeat}")).collect();
    let experiment = Experiment {
        schema: SCHEMA.into(),
        name: "r".into(),
        plan_hash: "0".into(),
        seed: 1,
        repeats: thousands.len() as u32,
        command: vec!["brunt".into()],
        order,
        cells,
        ..Experiment::default()
    };
    store.begin(&experiment, text).unwrap();
    for (repeat, thousands) in (1..).zip(thousands) {
        write(&store, "target=x", repeat, &trial(*thousands, None));
    }
    store
}

#[test]
fn from_six_repeats_on_there_is_an_interval_and_outliers_are_named() {
    let home = brunt_testkit::home();
    let rates = [100.0, 101.0, 99.5, 100.4, 99.0, 60.0, 100.9, 99.9, 100.2, 99.7, 100.6];
    let text = report::text(&report::read(repeated(home.path(), &rates).path()).unwrap(), Style::Plain, Width::Wide);
    assert!(text.contains(" 95 % ") && !text.contains("range"), "{text}");
    // The outlier hardly moves the median and counts.
    let row = text.lines().find(|line| line.trim_start().starts_with('x')).unwrap();
    assert!(row.contains(" 11 ") && row.contains(" 100.0 ") && row.contains("..100."), "{row}");
    assert!(text.contains("outliers (included in all figures): 1 repeat: target=x repeat 6 (60000 req/s"), "{text}");
    // Far from the others, and 0.1 % from the median.
    let home = brunt_testkit::home();
    let rates = [5.0, 5.0, 5.0, 5.0, 5.0, 5.005];
    let text = report::text(&report::read(repeated(home.path(), &rates).path()).unwrap(), Style::Plain, Width::Wide);
    assert!(!text.contains("outlier"), "{text}");
}

#[test]
fn the_p99_has_the_wider_of_the_interval_within_a_repeat_and_the_range_between_them() {
    let home = brunt_testkit::home();
    let store = repeated(home.path(), &[100.0, 101.0, 99.0]);
    let p99 = |path: &Path| {
        let row = report::read(path).unwrap().rows.remove(0);
        (row.figures.get(&brunt_results::figure::P99).unwrap(), row.figures.p99_interval)
    };
    let (shown, none) = p99(store.path());
    assert_eq!(none, None, "there is no log");
    // Four seconds of 10,000 requests; in one of them the slow requests are slower.
    let mut log = b"#[Histogram log format version 1.3]\n".to_vec();
    for second in 0..4u64 {
        let mut histogram = brunt_results::latency::new_histogram();
        histogram.record_n((shown * 500.0) as u64, 9_850).unwrap();
        histogram.record_n((shown * 1e3) as u64, if second == 2 { 20 } else { 120 }).unwrap();
        histogram.record_n((shown * 3e3) as u64, if second == 2 { 130 } else { 30 }).unwrap();
        log.extend(hlog_line(&histogram, second as f64));
    }
    fs::write(store.trial("target=x", 1).join("latency.hlog"), log).unwrap();
    let interval = p99(store.path()).1.unwrap();
    assert!(interval.low < 0.6 * shown && interval.high > 2.9 * shown, "{interval:?} of {shown}");
    let text = report::text(&report::read(store.path()).unwrap(), Style::Plain, Width::Wide);
    assert!(text.contains("p99 range: the wider of"), "{text}");
    fs::write(store.trial("target=x", 1).join("latency.hlog"), "not a log").unwrap();
    assert_eq!(p99(store.path()).1, None);
}

/// A line of an interval log.
fn hlog_line(histogram: &hdrhistogram::Histogram<u64>, start: f64) -> Vec<u8> {
    use hdrhistogram::serialization::{V2DeflateSerializer, interval_log::*};
    let mut bytes = Vec::new();
    let mut serializer = V2DeflateSerializer::new();
    let second = std::time::Duration::from_secs(1);
    IntervalLogWriterBuilder::new()
        .begin_log_with(&mut bytes, &mut serializer)
        .unwrap()
        .write_histogram(histogram, second.mul_f64(start), second, Tag::new("response"))
        .unwrap();
    bytes
}

/// A plan may give a target a rate of its own, here one at which it is idle. The memory of its connections has parts, of which
/// the kernel does not tell one.
#[test]
fn idle_connections_have_the_memory_of_their_parts_and_no_ratio() {
    let home = brunt_testkit::home();
    let store = made_by_hand(home.path());
    let mut experiment = store.experiment().unwrap().unwrap();
    experiment.baseline = Some("epoll".into());
    for cell in &mut experiment.cells.run {
        if cell.target == "uring" {
            cell.settings.set("rate", "0.001").unwrap();
        }
    }
    store.begin(&experiment, PLAN).unwrap();
    let name = "target=uring,size=1KiB,rate=max";
    for repeat in 1..=3 {
        let mut idle = trial(0.0, Some(0.001));
        idle.connections.peak = 2000;
        let host = &mut idle.host;
        (host.slab_start_bytes, host.slab_bytes) = (Some(1 << 20), Some((1 << 20) + 22_000_000));
        (host.slab_sockets_start_bytes, host.slab_sockets_bytes) = (Some(5), Some(14_000_005));
        (host.slab_io_uring_start_bytes, host.slab_io_uring_bytes) = (Some(0), Some(1_074_000));
        write(&store, name, repeat, &idle);
        let directory = Directory::open(store.trial(name, repeat));
        let mut env: Env = directory.read_env().unwrap();
        env.absent.insert("host.slab_epoll_bytes".into(), "one cache for two".into());
        directory.write_env(&env).unwrap();
    }
    let read = report::read(store.path()).unwrap();
    let row = read.rows.iter().find(|row| row.cell.id() == name).unwrap();
    assert_eq!(row.against_baseline, None);
    assert_eq!(row.verdicts.keys().map(|kind| kind.word()).collect::<Vec<_>>(), ["ok"]);
    let text = report::text(&read, Style::Plain, Width::Wide);
    let line = text.lines().find(|line| ["11000", "7000", "537"].iter().all(|bytes| line.contains(bytes)));
    assert!(line.is_some_and(|line| line.contains("uring")), "{text}");
    assert!(
        ["sockets", "io_uring", "No memory of epoll here: one cache for two."].iter().all(|w| text.contains(w)),
        "{text}"
    );
}
