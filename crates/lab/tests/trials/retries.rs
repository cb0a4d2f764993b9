//! Disturbed trials are run again, and their attempts archived.

use super::{FIND_OUT, Scene, result};
use brunt_lab::run::experiment::run;
use brunt_lab::{plan::Style, report};
use brunt_results::judge::judge;
use std::fs;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// A tester whose attempts at a trial have these rates, and a generator that waits for this percentage of the time; the last
/// one for all that follow.
fn attempts(scene: Scene, attempts: &[(f64, f64)]) -> Scene {
    let mut script = format!("{FIND_OUT}n=0; while [ -e $out.disturbed-$((n+1)) ]; do n=$((n+1)); done\n");
    for (number, (rate, wait)) in attempts.iter().enumerate() {
        let template = scene.home.path().join(format!("attempt-{number}.json"));
        let mut result = result();
        result.requests.rate = *rate;
        result.latency.response.count = 5000;
        result.generator.run_queue_wait_percent = Some(*wait);
        result.verdict = judge(&result, None);
        fs::write(&template, serde_json::to_vec(&result).unwrap()).unwrap();
        script += &format!("[ $n -ge {number} ] && cp {} $out/result.json\n", template.display());
    }
    let mut scene = scene.tester(&format!("{script}exit 0\n"));
    scene.plan = scene.plan.replace("retries = 0", "retries = 2");
    scene
}

#[test]
fn a_disturbed_trial_is_run_again_and_the_attempt_archived() {
    let scene = attempts(Scene::with_echo("", &["a"]), &[(9000.0, 30.0), (5000.0, 1.0)]);
    let finish = scene.run().unwrap();
    assert_eq!((finish.interrupted, finish.run), (false, 4));
    let read = report::read(&scene.out()).unwrap();
    assert_eq!((read.repeated, read.failed()), (2, 0));
    assert_eq!(read.rows[0].figures.rate.unwrap().median, 5000.0, "the undisturbed attempt counts");
    let text = report::text(&read, Style::Plain, report::Width::Wide);
    assert!(text.contains("repeated: 2 disturbed trials"), "{text}");
    // Continues without another attempt.
    assert_eq!(scene.run().unwrap().run, 0);
    scene.assert_no_process_left(4);
}

#[test]
fn a_run_on_an_always_disturbed_machine_ends() {
    let scene = attempts(Scene::with_echo("", &["a"]), &[(9000.0, 30.0)]);
    assert_eq!(scene.run().unwrap().run, 6);
    let read = report::read(&scene.out()).unwrap();
    assert_eq!((read.repeated, read.rows[0].verdict()), (4, "disturbed".to_owned()));
}

/// Microseconds of the probe before and after each of three attempts at the one trial: 80 %, 86 % and 100 % of the best speed.
fn probe(_: &brunt_lab::schedule::Cell) -> Option<f64> {
    static CALLS: AtomicUsize = AtomicUsize::new(0);
    [6.0, 7.5, 7.0, 7.0, 6.0, 6.0].get(CALLS.fetch_add(1, Ordering::Relaxed)).copied()
}

#[test]
fn a_retry_on_a_faster_machine_does_not_count_if_its_generator_had_no_core() {
    let attempted = [(67_100.0, 1.0), (38_100.0, 41.0), (38_100.0, 41.0)];
    let mut scene = attempts(Scene::with_echo("", &["a"]), &attempted);
    scene.plan = scene.plan.replace("repeats = 2", "repeats = 1");
    let (mut request, schedule) = scene.prepare();
    request.speed_probe = probe;
    assert_eq!(run(&request, &schedule, &mut (), &AtomicBool::new(false)).unwrap().run, 3);
    let read = report::read(&scene.out()).unwrap();
    assert_eq!((read.rows[0].figures.rate.unwrap().median, read.repeated), (67_100.0, 2));
    let text = report::text(&read, Style::Plain, report::Width::Wide);
    assert!(text.contains("the least disturbed attempt counts"), "{text}");
}
