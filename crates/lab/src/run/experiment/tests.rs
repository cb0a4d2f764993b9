//! The order of an experiment, and the time it says that it will take: starts take the time that a script says.

mod script;

use super::*;
use script::{Scene, Script};

const S: Duration = Duration::from_secs(1);
const HALF: Duration = Duration::from_millis(500);

/// Two targets twice, a load of a second each.
const TRIALS: &str = "name = 'p'\nrepeats = 2\norder = 'trials'\n[load]\nconnections = 4\nduration = '1s'\nwarmup = '0s'\n\
    [[target]]\nname = 'a'\ncommand = ['sh', '{port}']\n[[target]]\nname = 'b'\ncommand = ['sh', '{port}']\n";

#[test]
fn trials_follow_each_other_and_the_time_left_is_learnt_from_them() {
    let scene = Scene::new(TRIALS);
    let script = Script { beside: &|_| HALF, ..Script::default() };
    let (summary, lines) = scene.run(&script);
    assert_eq!(summary, Summary { interrupted: false, resumed: 0, run: 4 });
    // 300 ms beside each load are assumed until one has been made.
    assert_eq!(
        lines,
        [
            "0.0 s: 1/4 a 1 begins, 5.2 s left",
            "0.5 s: 1/4 a 1 load, 4.7 s left",
            "1.5 s: 1/4 a 1 done in 1.5 s, 4.5 s left",
            "1.5 s: 2/4 b 1 begins, 4.5 s left",
            "2.0 s: 2/4 b 1 load, 4.0 s left",
            "3.0 s: 2/4 b 1 done in 1.5 s, 3.0 s left",
            "3.0 s: 3/4 a 2 begins, 3.0 s left",
            "3.5 s: 3/4 a 2 load, 2.5 s left",
            "4.5 s: 3/4 a 2 done in 1.5 s, 1.5 s left",
            "4.5 s: 4/4 b 2 begins, 1.5 s left",
            "5.0 s: 4/4 b 2 load, 1.0 s left",
            "6.0 s: 4/4 b 2 done in 1.5 s, 0.0 s left",
        ]
    );
}

#[test]
fn starts_that_take_longer_and_shorter_count_as_their_mean() {
    let scene = Scene::new(TRIALS);
    let beside = |group: &TrialGroup| if group.target.name == "a" { 3 * S } else { S };
    let (_, lines) = scene.run(&Script { beside: &beside, ..Script::default() });
    let left: Vec<&str> =
        lines.iter().filter(|line| line.contains("done")).map(|line| line.split_once(" done ").unwrap().1).collect();
    assert_eq!(left, ["in 4.0 s, 12.0 s left", "in 2.0 s, 6.0 s left", "in 4.0 s, 3.3 s left", "in 2.0 s, 0.0 s left"]);
}

#[test]
fn an_interrupt_keeps_what_is_done_and_the_next_run_makes_the_rest() {
    let scene = Scene::new(TRIALS);
    let (summary, lines) = scene.run(&Script { interrupt: Some(3), ..Script::default() });
    assert_eq!(summary, Summary { interrupted: true, resumed: 0, run: 2 });
    assert_eq!(lines.last().unwrap(), "2.0 s: 3/4 a 2 interrupted in 0.0 s, 1.0 s left");
    let (summary, lines) = scene.run(&Script::default());
    assert_eq!(summary, Summary { interrupted: false, resumed: 2, run: 2 });
    let begun: Vec<&String> = lines.iter().filter(|line| line.contains("begins")).collect();
    assert_eq!(begun, ["0.0 s: 3/4 a 2 begins, 2.6 s left", "1.0 s: 4/4 b 2 begins, 1.0 s left"]);
}

#[test]
fn a_trial_that_fails_is_no_reason_to_end_and_is_made_again() {
    let scene = Scene::new(TRIALS);
    let (summary, lines) = scene.run(&Script { fails: Some(2), ..Script::default() });
    assert_eq!(summary, Summary { interrupted: false, resumed: 0, run: 4 });
    let ends: Vec<&str> = lines.iter().filter(|line| line.contains(" in ")).map(|line| &line[7..21]).collect();
    assert_eq!(ends, ["1/4 a 1 done i", "2/4 b 1 failed", "3/4 a 2 done i", "4/4 b 2 done i"]);
    assert_eq!(scene.run(&Script::default()).0, Summary { interrupted: false, resumed: 3, run: 1 });
}

/// Two targets that take turns, and 10 s for their slices in three starts or more.
const SLICES: &str = "name = 'p'\nrepeats = 3\nbudget = '10s'\n[load]\nconnections = 4\nwarmup = '0s'\n\
    [[target]]\nname = 'a'\ncommand = ['sh', '{port}']\n[[target]]\nname = 'b'\ncommand = ['sh', '{port}']\n";

fn starts(lines: &[String]) -> Vec<&str> {
    lines.iter().filter(|line| line.contains("begins")).map(String::as_str).collect()
}

#[test]
fn a_load_gets_starts_until_its_comparison_is_precise() {
    let scene = Scene::new(SLICES);
    // A start takes 1 s beside 2 s of slices, in which b is always as much faster.
    let (summary, lines) = scene.run(&Script { beside: &|_| S, ratio: &|_| 1.2, ..Script::default() });
    assert_eq!(summary, Summary { interrupted: false, resumed: 0, run: 8 });
    // At first what is assumed: the budget, and 300 ms a target and start. Five starts of 3 s would use it.
    assert_eq!(
        starts(&lines),
        [
            "0.0 s: 1/6 a 1 begins, 11.8 s left",
            "3.0 s: 3/6 a 2 begins, 12.0 s left",
            "6.0 s: 5/6 b 3 begins, 9.0 s left",
            "9.0 s: 7/8 a 4 begins, 6.0 s left",
        ]
    );
}

#[test]
fn a_load_that_stays_imprecise_gets_starts_until_its_budget_is_used() {
    let scene = Scene::new(SLICES);
    let ratio = |start: u32| 1.0 + 0.1 * f64::from(start);
    let (summary, lines) = scene.run(&Script { beside: &|_| S, ratio: &ratio, ..Script::default() });
    assert_eq!((summary.run, starts(&lines).len()), (10, 5));
    assert_eq!(lines.last().unwrap(), "15.0 s: 10/10 b 5 done in 1.5 s, 0.0 s left");
    // The next run has nothing to do.
    let (summary, lines) = scene.run(&Script::default());
    assert_eq!((summary.run, lines.len()), (0, 0));
}

#[test]
fn an_interrupted_start_is_made_again() {
    let scene = Scene::new(SLICES);
    let script = Script { beside: &|_| S, ratio: &|_| 1.2, ..Script::default() };
    let (summary, _) = scene.run(&Script { interrupt: Some(4), ..script });
    assert_eq!(summary, Summary { interrupted: true, resumed: 0, run: 6 });
    let (summary, lines) = scene.run(&script);
    assert_eq!(summary, Summary { interrupted: false, resumed: 6, run: 2 });
    assert_eq!(starts(&lines), ["0.0 s: 7/8 a 4 begins, 5.2 s left"]);
}
