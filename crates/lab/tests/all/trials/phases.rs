//! Several loads on one start of a target.

use super::{At, Scene};
use brunt_lab::report;
use brunt_lab::run::experiment::{Summary, run};
use brunt_lab::run_directory::TrialOutcome;
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};

const PHASES: &str = "[[phase]]\nname = 'warm'\n[[phase]]\nname = 'steady'\nrate = '1k'\nduration = '30ms'\n\
                      [[phase]]\nname = 'after'\nconnections = 2\n";

fn scene() -> Scene {
    Scene::with_echo(PHASES, &["a"])
}

/// A tester that fails at a rate.
fn fails_at_a_rate(scene: &Scene) -> String {
    format!("case \"$*\" in *' -R '*) echo too fast >&2; exit 6;; esac\n{}", scene.tester)
}

#[test]
fn phases_run_in_order_on_one_start_and_each_has_a_row() {
    let scene = scene();
    assert_eq!(scene.run().unwrap(), Summary { interrupted: false, resumed: 0, run: 6 });
    // One for each repeat, not one for each phase.
    scene.assert_no_process_left(2);
    let record = |phase: &str| scene.store().record(&format!("target=a,phase={phase}"), 1).unwrap();
    let (warm, steady, after) = (record("warm"), record("steady"), record("after"));
    assert_eq!((warm.number, steady.number, after.number), (1, 2, 3));
    assert!(warm.target == steady.target && warm.target == after.target);
    assert!(!warm.tester.contains(&"-R".to_owned()) && warm.tester.join(" ").contains("-d 20ms"));
    assert!(steady.tester.join(" ").contains("-d 30ms") && steady.tester.join(" ").contains("-R 1k"));
    assert!(after.tester.join(" ").contains("-c 2 "), "{:?}", after.tester);
    let read = report::read(&scene.out()).unwrap();
    let phases: Vec<Option<&str>> = read.rows.iter().map(|row| row.cell.phase()).collect();
    assert_eq!(phases, [Some("warm"), Some("steady"), Some("after")]);
    let page = report::markdown(&read, brunt_lab::plan::Style::Plain);
    assert!(page.contains("| steady |"), "{page}");
}

#[test]
fn a_phase_without_a_result_is_run_again_with_all_of_its_start() {
    let scene = scene();
    scene.run().unwrap();
    fs::remove_dir_all(scene.store().trial("target=a,phase=steady", 2)).unwrap();
    assert_eq!(scene.run().unwrap(), Summary { interrupted: false, resumed: 3, run: 3 });
    scene.assert_no_process_left(3);
}

#[test]
fn phases_after_a_failed_one_are_not_run_and_record_the_reason() {
    let scene = scene();
    let script = fails_at_a_rate(&scene);
    let scene = scene.tester(&script);
    scene.run().unwrap();
    assert!(matches!(scene.store().outcome("target=a,phase=warm", 1), Some(TrialOutcome::Done(_))));
    assert_eq!(scene.failure("target=a,phase=steady"), "the tester ended with status 6: too fast");
    let why = "phase 'steady' failed: the tester ended with status 6: too fast";
    assert_eq!(scene.failure("target=a,phase=after"), why);
    scene.assert_no_process_left(2);
}

#[test]
fn an_interrupted_phase_discards_those_before_it() {
    let scene = scene();
    let stop = AtomicBool::new(false);
    let (request, schedule) = scene.prepare();
    let finish = run(&request, &schedule, &mut At(2, || stop.store(true, Ordering::Relaxed)), &stop).unwrap();
    assert_eq!(finish, Summary { interrupted: true, resumed: 0, run: 0 });
    assert!(!scene.store().is_done("target=a,phase=warm", 1));
    scene.assert_no_process_left(1);
    assert_eq!(scene.run().unwrap(), Summary { interrupted: false, resumed: 0, run: 6 });
}
