//! Disturbed trials are run again, and their attempts archived.

use super::{Scene, result};
use brunt_lab::{plan::Style, report};
use brunt_results::verdict::Kind;
use std::fs;

/// A tester whose first attempt at every trial is disturbed.
fn disturbed_at_first(scene: Scene, also_the_second: bool) -> Scene {
    let template = scene.home.path().join("disturbed.json");
    let mut disturbed = result();
    disturbed.verdict.kind = Kind::Disturbed;
    disturbed.requests.rate = 9000.0;
    fs::write(&template, serde_json::to_vec(&disturbed).unwrap()).unwrap();
    let usual = scene.tester.clone();
    let again = if also_the_second { "true" } else { "[ ! -e $out.disturbed-1 ]" };
    let script = format!("{usual}if {again}; then cp {} $out/result.json; fi\n", template.display());
    let mut scene = scene.tester(&script);
    scene.plan = scene.plan.replace("retries = 0", "retries = 2");
    scene
}

#[test]
fn a_disturbed_trial_is_run_again_and_the_attempt_archived() {
    let scene = disturbed_at_first(Scene::with_echo("", &["a"]), false);
    let finish = scene.run().unwrap();
    assert_eq!((finish.interrupted, finish.run), (false, 4));
    let read = report::read(&scene.out()).unwrap();
    assert_eq!((read.repeated, read.failed()), (2, 0));
    assert_eq!(read.rows[0].figures.rate.unwrap().median, 5000.0, "the undisturbed attempt counts");
    let text = report::text(&read, Style::Plain, None);
    assert!(text.contains("repeated: 2 disturbed trials"), "{text}");
    // Continues without another attempt.
    assert_eq!(scene.run().unwrap().run, 0);
    scene.assert_no_process_left(4);
}

#[test]
fn a_run_on_an_always_disturbed_machine_ends() {
    let scene = disturbed_at_first(Scene::with_echo("", &["a"]), true);
    assert_eq!(scene.run().unwrap().run, 6);
    let read = report::read(&scene.out()).unwrap();
    assert_eq!((read.repeated, read.rows[0].verdict()), (4, "disturbed".to_owned()));
}
