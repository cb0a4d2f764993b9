//! Numbers of connections that change during a closed loop: each step has exactly the requests of its connections.

use crate::targets::{Seen, seen};
use crate::web::{Answer, Request, get, ok, web};
use crate::worlds::{Run, SIZE, WAY, address, exact, options, run};
use brunt_load::{LoadError, Options, Silent, Stage, Target, run_in_world};
use brunt_results::RunResult;
use std::{rc::Rc, time::Duration};

const SERVICE: Duration = Duration::from_millis(20);
/// From sending a request until its reply: the sleep ends in a turn of its own.
const EACH: Duration = Duration::from_nanos(20_000_000 + 1_000 + WAY.as_nanos() as u64);
/// Opening a connection.
const OPENING: Duration = WAY;
const WARMUP: Duration = Duration::from_millis(200);

fn stage(from: u32, to: u32, ms: u64) -> Stage {
    Stage { from: f64::from(from), to: f64::from(to), length: Duration::from_millis(ms) }
}

fn staged(stages: &[Stage], threads: usize) -> Options {
    let most = stages.iter().map(|stage| stage.from.max(stage.to)).fold(0.0, f64::max);
    Options {
        connections: most as usize,
        connection_stages: stages.to_vec(),
        duration: stages.iter().map(|stage| stage.length).sum(),
        warmup: WARMUP,
        threads: vec![None; threads],
        ..options()
    }
}

/// When connection number `rank` begins and ceases to have a place, in nanoseconds of the load: where the line of its stage
/// crosses the middle between its number and the next.
fn places(stages: &[Stage], rank: usize) -> Vec<(u64, bool)> {
    let (mut start, mut all) = (Duration::ZERO, vec![(0, (rank as f64) < stages[0].from)]);
    for stage in stages {
        let at = (WARMUP + start).as_nanos() as u64;
        if start > Duration::ZERO {
            all.push((at, (rank as f64) < stage.from));
        }
        let line = rank as f64 + 0.5;
        let part = (line - stage.from) / (stage.to - stage.from);
        if stage.from != stage.to && (0.0..=1.0).contains(&part) {
            all.push((at + stage.length.mul_f64(part).as_nanos() as u64, stage.to > stage.from));
        }
        start += stage.length;
    }
    all
}

/// Requests that connections begin in each step and end in the window, if each ends `EACH` after it began, and how many connections
/// are opened; `reuse` requests on each.
fn expected(options: &Options, ends: &[f64], reuse: u64) -> (Vec<u64>, u64) {
    let (warmup, each, opening) = [WARMUP, EACH, OPENING].map(|time| time.as_nanos() as u64).into();
    let close = warmup + options.duration.as_nanos() as u64;
    let (mut steps, mut opened) = (vec![0; ends.len()], 0);
    for rank in 0..options.connections {
        let places = places(&options.connection_stages, rank);
        let has_place = |at: u64| places.iter().rev().find(|(from, _)| *from <= at).unwrap().1;
        let next_place = |at: u64| places.iter().find(|(from, has)| *from >= at && *has).map(|(from, _)| *from);
        // Those of the first stage are opened before the load.
        let mut at = if has_place(0) { Some(0) } else { next_place(0).map(|at| at + opening) };
        'open: while let Some(mut begun) = at.filter(|at| *at < close) {
            opened += 1;
            // The first connections carry fewer, so that not all are replaced at the same time.
            let mut carried = if reuse == u64::MAX { 0 } else { rank as u64 % reuse };
            loop {
                let end = begun + each + if carried == reuse { opening } else { 0 };
                if carried == reuse {
                    (carried, opened) = (0, opened + u64::from(begun < close));
                }
                if end >= close {
                    break 'open;
                }
                if let Some(since) = begun.checked_sub(warmup) {
                    steps[ends.partition_point(|end| *end <= since as f64 / 1e9)] += 1;
                }
                carried += 1;
                begun = end;
                if !has_place(end) {
                    at = next_place(end).map(|at| at + opening);
                    continue 'open;
                }
            }
        }
    }
    (steps, opened)
}

/// Runs the load of an echo, and compares its steps with what is expected.
fn check(options: &Options, reuse: Option<u64>) {
    let saw = Rc::<Seen>::default();
    let target = Target::Echo { address: address().into(), size: SIZE, reuse };
    let options = Options { target, ..options.clone() };
    let Run { report, .. } = run(&exact(1), &options, seen(saw.clone(), SIZE as u64, SERVICE, u64::MAX));
    compare(&report.result, &options, reuse);
    assert_eq!(saw.most.get(), options.connections as u64);
}

fn compare(result: &RunResult, options: &Options, reuse: Option<u64>) {
    assert_eq!((result.failures(), result.errors.total()), (0, 0), "{:?}", result.errors);
    let ends: Vec<f64> = result.steps.iter().map(|step| step.end_s).collect();
    let (steps, opened) = expected(options, &ends, reuse.unwrap_or(u64::MAX));
    assert_eq!(result.steps.iter().map(|step| step.figures.completed).collect::<Vec<_>>(), steps);
    assert_eq!((result.connections.opened, result.connections.peak), (opened, options.connections as u64));
    assert_eq!((result.connections.served_percent, result.load.connections), (None, options.connections as u64));
    for step in &result.steps {
        assert_eq!((step.offered_rate, step.figures.failed), (None, 0));
        let response = &step.figures.response;
        let each = EACH.as_nanos() as f64 / 1e3;
        assert!((response.p50_us.unwrap() / each - 1.0).abs() < 0.001, "{response:?}");
    }
}

#[test]
fn each_step_has_the_requests_of_its_connections() {
    for threads in [1, 2] {
        let stages = [stage(2, 2, 600), stage(10, 10, 600), stage(5, 5, 600), stage(12, 12, 600)];
        check(&staged(&stages, threads), None);
    }
}

#[test]
fn a_line_rises_and_falls_and_connections_that_are_replaced_take_part() {
    for reuse in [None, Some(3)] {
        check(&staged(&[stage(4, 44, 1500), stage(44, 44, 300), stage(44, 4, 1500)], 2), reuse);
    }
}

#[test]
fn connections_of_http_have_the_same_requests() {
    let stages = [stage(4, 4, 600), stage(4, 24, 1000), stage(24, 24, 300), stage(8, 8, 600)];
    let options = Options { target: Target::Http(get()), ..staged(&stages, 2) };
    let answer = |_: &Request| Answer::default().wait(SERVICE).say(ok("late"));
    let Run { report, .. } = run(&exact(1), &options, web(0, Default::default(), answer));
    compare(&report.result, &options, None);
    assert_eq!(report.result.steps.len(), 13);
}

#[test]
fn connections_of_stages_share_the_connect_rate() {
    let options = Options { connect_rate: Some(20.0), ..staged(&[stage(1, 1, 300), stage(11, 11, 1000)], 1) };
    let saw = Rc::<Seen>::default();
    let result = run(&exact(1), &options, seen(saw, SIZE as u64, SERVICE, u64::MAX)).report.result;
    // Ten more at 20 a second: at 0, 50 ... 450 ms of the second step, of which each has the rest of the second.
    let each = EACH.as_micros() as u64;
    let begun = |number: u64| 1_000_000 - 50_000 * number - OPENING.as_micros() as u64;
    let of_new: u64 = (0..10).map(|number| begun(number) / each).sum();
    // The first one goes on from the first step.
    let of_first = 1_500_000 / each - 500_000u64.div_ceil(each);
    assert_eq!(result.steps[1].figures.completed, of_new + of_first);
    assert_eq!((result.failures(), result.connections.opened), (0, 11));
}

#[test]
fn stages_of_connections_need_a_closed_loop_and_fit_the_connections() {
    let valid = staged(&[stage(1, 3, 300)], 1);
    for (options, says) in [
        (Options { rate: Some(10.0), ..valid.clone() }, "closed loop alone"),
        (Options { connections: 2, ..valid.clone() }, "from 1 to 2"),
    ] {
        let outcome: Result<_, LoadError> = exact(1).run(run_in_world(&options, &mut Silent)).unwrap();
        let error = outcome.map(|report| report.result).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }
}
