//! The program with which the answer to a step of load is measured: `examples/load_step`.

#[path = "../../examples/load_step/figures.rs"]
mod figures;
#[path = "../../examples/load_step/watch.rs"]
#[allow(dead_code, reason = "its threads are run by the example")]
mod watch;

use crate::shared::example::example;
use brunt_colocate::actuators::{Actuators, Settings};
use brunt_colocate::allotment::Allotment;
use brunt_colocate::audit::Record;
use brunt_colocate::journal::{Journal, all};
use brunt_colocate::objective::Objective;
use brunt_colocate::policy::{Decision, Reason};
use brunt_colocate::readings::{Reading, Readings, Requests};
use brunt_meter::cgroup::Linux;
use brunt_results::counts::Counts;
use brunt_testkit::{Running, Signal, until};
use figures::{Controller, Figures, figures};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use watch::{Look, added};

/// Whether there are two cores, and a group for the jobs can be made.
fn can_run() -> bool {
    let home = brunt_testkit::home();
    let mut journal = Journal::create(&home.path().join("a.journal")).unwrap();
    let last = std::thread::available_parallelism().unwrap().get() - 1;
    let opened = Actuators::open(Arc::new(Linux), &Settings::new(vec![last], 0.3), &mut journal).map(drop);
    assert_eq!(journal.undo(&Linux), Vec::<String>::new());
    if last == 0 || opened.is_err() {
        println!("skipped: {last} more cores, {opened:?}");
        return false;
    }
    true
}

const OBJECTIVE: Objective = Objective { quantile: 0.99, limit_ms: 6.0 };
/// Of the controller's clock.
const ZERO: f64 = 990.0;
/// The step.
const BEGIN: f64 = 1000.0;

/// The windows of a load from `from` to `to`, in hundredths of a second from the step, with as many slow requests each.
fn load(from: i32, to: i32, count: u64, slow: impl Fn(i32) -> u64) -> Vec<Counts> {
    let window = |at: i32| {
        let end = Some(BEGIN + f64::from(at + 1) / 100.0);
        Counts { end, seconds: 0.01, count, slow: slow(at), offered: Some(count as f64 * 100.0), ..Counts::default() }
    };
    (from..to).map(window).collect()
}

fn record(at: f64, window: &Counts, cores: f64, reason: Reason) -> Record {
    let now = BEGIN + at - ZERO;
    let Counts { seconds, count, slow, latency_ms, .. } = *window;
    let value = Requests { seconds, count, slow, failed: 0, latency_ms, load: None };
    let requests = Some(Reading { value, age: now - (window.end.unwrap() - ZERO) });
    let allotment = Allotment::cores(cores);
    Record { now, readings: Readings { requests, ..Readings::default() }, decision: Decision { allotment, reason } }
}

fn near(found: Option<f64>, expected: f64) -> bool {
    found.is_some_and(|found| (found - expected).abs() < 1e-6)
}

#[test]
fn a_step_has_the_times_of_its_answer() {
    // From 0.1 s to 0.3 s after the step half of the requests are slow.
    let slow = |at: i32| if (10..30).contains(&at) { 30 } else { 0 };
    let loads = [load(-100, 800, 20, |_| 0), load(0, 800, 60, slow)];
    let all: Vec<(usize, Counts)> =
        (0..2).flat_map(|index| loads[index].iter().map(move |counts| (index, *counts))).collect();
    let ending = |from: f64, to: f64| {
        let within = |(_, counts): &&(usize, Counts)| {
            counts.end.is_some_and(|end| end > BEGIN + from + 1e-9 && end < BEGIN + to + 1e-9)
        };
        added(&all.iter().filter(within).copied().collect::<Vec<_>>(), 0.1).unwrap()
    };
    let given: Vec<Counts> =
        (-5..10).map(|tenth| ending(f64::from(tenth) / 10.0, f64::from(tenth + 1) / 10.0)).collect();
    assert_eq!((given[4].count, given[5].count, given[6].slow), (200, 800, 300));
    assert!(near(given[5].offered, 8000.0) && near(given[5].end, BEGIN + 0.1));
    let records = vec![
        record(-0.01, &given[3], 1.0, Reason::Ceiling),
        record(0.12, &given[5], 1.0, Reason::Ceiling),
        record(0.23, &given[6], 0.5, Reason::Shrink),
        record(0.33, &given[7], 0.0, Reason::Emergency),
        record(0.35, &given[7], 0.0, Reason::Cooldown),
        record(0.85, &given[12], 0.25, Reason::Hold),
    ];
    let looks = [(-0.5, false, 1.0), (0.325, false, 2.0), (0.334, true, 2.003), (0.9, false, 2.1)];
    let looks = looks.map(|(at, frozen, cpu)| Look { at: BEGIN + at, frozen, cpu: Some(cpu) }).to_vec();
    let until = BEGIN + 8.0;
    let of = |controller| figures(OBJECTIVE, &loads, until, controller).unwrap();
    let controller = Controller { records, looks, given };
    let found = of(Some(&controller));
    assert!(near(found.cores, 1.0) && near(found.over, 0.23) && near(found.age, 0.03), "{found:?}");
    assert!(near(found.less, 0.23) && found.reason == Some(Reason::Shrink), "{found:?}");
    assert!(near(found.freeze, 0.004) && near(found.ran, 0.003), "{found:?}");
    // The last look before the tick that read it was before the step.
    assert!(near(found.jobs, 0.0), "{found:?}");
    assert_eq!((found.count, found.slow), (24_000, 600));
    // A window of half a second has 4,000 requests, and up to 40 slow ones: it begins in the last two slow hundredths at most.
    assert!((found.back - 0.29).abs() < 0.011, "{found:?}");
    let alone = of(None);
    assert_eq!(alone, Figures { back: found.back, count: 24_000, slow: 600, ..Figures::default() });
    let late = [loads[0].clone(), load(0, 800, 60, |at| if at > 790 { 30 } else { 0 })];
    assert_eq!(figures(OBJECTIVE, &late, until, None).unwrap().back, f64::INFINITY);
}

#[test]
fn a_short_step_is_measured_and_leaves_nothing() {
    if !can_run() {
        return;
    }
    let home = brunt_testkit::home();
    let mut command = Command::new("timeout");
    command.args(["-k", "15", "300"]).arg(example("load_step")).args(["--steps", "1", "--ready", "1s", "--hold", "1s"]);
    command.args(["--brunt", env!("CARGO_BIN_EXE_brunt"), "--out"]).arg(home.path());
    let output = command.output().unwrap();
    let [stdout, stderr] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    assert!(output.status.success(), "{stdout}{stderr}");
    let lines: Vec<Vec<&str>> = stdout.lines().map(|line| line.split_whitespace().collect()).collect();
    for (index, policy) in [(1, "alone"), (2, "none"), (3, "graded")] {
        assert_eq!(lines[index][..2], ["1", policy], "{stdout}");
    }
    assert_eq!(lines.len(), 4 + 6, "{stdout}");
    let state = home.path().join("1-graded/state/colocate");
    assert_eq!(all(&state), Vec::<PathBuf>::new());
}

#[test]
fn an_interrupted_step_ends_what_it_started() {
    if !can_run() {
        return;
    }
    let home = brunt_testkit::home();
    let mut command = Command::new(example("load_step"));
    command.args(["--steps", "1", "--brunt", env!("CARGO_BIN_EXE_brunt"), "--out"]).arg(home.path());
    let mut step = Running::start(command.stdout(Stdio::null()).stderr(Stdio::null()));
    let counts = home.path().join("1-alone/counts.jsonl");
    until("there are counts", || counts.metadata().is_ok_and(|file| file.len() > 0) || step.is_over());
    let children = || {
        let list = format!("/proc/{0}/task/{0}/children", step.pid());
        let text = std::fs::read_to_string(list).unwrap_or_default();
        text.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<u32>>()
    };
    let started = children();
    step.signal(Signal::TERM);
    // Alone: it ends what it started itself.
    assert_eq!(step.child().wait().unwrap().code(), Some(2));
    assert!(started.iter().all(|pid| brunt_meter::proc_stat::has_ended(*pid)), "{started:?}");
}
