//! The index over hand-made result directories: scanning, filters, refresh and rebuild.

mod damage;
mod scene;

use brunt_lab::history::{Filter, Kind, register};
use brunt_results::figure;
use scene::{Scene, write_search, write_single};
use std::fs;

fn plan(name: &str) -> Filter {
    Filter { plan: Some(name.to_owned()), ..Filter::default() }
}

#[test]
fn scanning_finds_each_directory_once_newest_first() {
    let scene = Scene::new();
    scene.run("runs/old", "alpha", 1_000_000, &[("a", 1, 100e3, 2_000.0), ("b", 1, 90e3, 7_000.0)]);
    scene.run("deep/er/new", "beta", 2_000_000, &[("a", 1, 80e3, 5_000.0), ("a", 2, 81e3, 5_100.0)]);
    write_search(&scene.path("runs/find"), 1_500_000, true);
    write_single(&scene.path("one"), 1_200_000);
    let mut index = scene.index();
    let rebuilt = index.rebuild(&[scene.path("")]).unwrap();
    assert_eq!((rebuilt.directories, rebuilt.trials), (4, 7), "{rebuilt:?}");
    // Repeating it, also through a symbolic link, changes nothing.
    std::os::unix::fs::symlink(scene.path("runs"), scene.path("link")).unwrap();
    let again = index.rebuild(&[scene.path("link/../runs"), scene.path("")]).unwrap();
    assert_eq!(again, rebuilt);
    let (runs, all) = index.runs(&Filter::default(), 3).unwrap();
    let kinds: Vec<_> = runs.iter().map(|run| (run.kind, run.plan.as_str())).collect();
    assert_eq!(kinds, [(Some(Kind::Run), "beta"), (Some(Kind::Find), "find"), (Some(Kind::Load), "load")]);
    assert_eq!(all, 4);
    assert_eq!((runs[0].targets.as_slice(), runs[0].trials), (["a".to_owned()].as_slice(), 2));
    assert_eq!(runs[0].verdicts["ok"], 2);
    assert_eq!(runs[0].machine.cpu.as_deref(), Some("a processor"));
    assert_eq!(runs[1].trials, 2);
}

#[test]
fn filters_select_matching_trials() {
    let scene = Scene::new();
    scene.run("x", "alpha", 1_000_000, &[("a", 1, 120e3, 2_000.0), ("a", 2, 120e3, 6_500.0), ("b", 1, 90e3, 1_000.0)]);
    scene.run("y", "beta", 2_000_000, &[("b", 1, 200e3, 5_999.0)]);
    let mut index = scene.index();
    index.rebuild(&[scene.path("")]).unwrap();
    let mut trials = |filter: Filter| {
        let (trials, all) = index.trials(&filter, 100).unwrap();
        assert_eq!(trials.len(), all);
        trials.iter().map(|trial| format!("{}/{}/{}", trial.plan, trial.target, trial.repeat)).collect::<Vec<_>>()
    };
    let bounds = |text: &str| text.split(',').map(|bound| bound.parse().unwrap()).collect();
    assert_eq!(trials(plan("beta")), ["beta/b/1"]);
    assert_eq!(trials(Filter { target: Some("a".into()), ..Filter::default() }), ["alpha/a/1", "alpha/a/2"]);
    assert_eq!(trials(Filter { since_unix_s: Some(2_000_000), ..Filter::default() }), ["beta/b/1"]);
    let both = Filter { bounds: bounds("p99<6ms,rate>100k"), ..Filter::default() };
    assert_eq!(trials(both.clone()), ["beta/b/1", "alpha/a/1"]);
    assert_eq!(trials(Filter { bounds: bounds("p99>6ms"), ..Filter::default() }), ["alpha/a/2"]);
    assert_eq!(trials(Filter { bounds: bounds("cost<10us,p99.9<3ms"), ..Filter::default() }), ["alpha/b/1"]);
    // A missing figure matches no bound.
    assert!(trials(Filter { bounds: bounds("p90<1h"), ..Filter::default() }).is_empty());
    assert!(trials(Filter { bounds: bounds("p90>0s"), ..Filter::default() }).is_empty());
    let values = |text: &str| Filter { values: vec![text.parse().unwrap()], ..Filter::default() };
    assert_eq!(trials(values("connections=80")).len(), 4);
    assert!(trials(values("connections=81")).is_empty());
    assert_eq!(trials(values("size=100")).len(), 4);
    assert_eq!(trials(Filter { verdict: Some("ok".into()), ..Filter::default() }).len(), 4);
    assert!(trials(Filter { verdict: Some("failed".into()), ..Filter::default() }).is_empty());
    // Values are SQL parameters.
    assert!(trials(plan("' OR 1 --")).is_empty());
    // Directories list matching trials; those without any are omitted.
    let (runs, all) = index.runs(&Filter { target: Some("a".into()), ..Filter::default() }, 100).unwrap();
    assert_eq!((all, runs[0].trials, runs[0].targets.as_slice()), (1, 2, ["a".to_owned()].as_slice()));
    assert_eq!(index.runs(&both, 1).unwrap().1, 2);
}

#[test]
fn unfinished_runs_are_listed_and_read_again() {
    let scene = Scene::new();
    let dir = scene.path("runs/x");
    register(&scene.state(), &dir).unwrap();
    let mut index = scene.index();
    index.refresh().unwrap();
    assert_eq!(index.runs(&Filter::default(), 9).unwrap().1, 0);
    // Killed after the first of two trials, without an update of the index.
    let store = scene.run("runs/x", "alpha", 1_000_000, &[("a", 1, 100e3, 2_000.0), ("b", 1, 90e3, 7_000.0)]);
    let second = store.trial("target=b,size=100B", 1);
    fs::rename(&second, scene.path("later")).unwrap();
    index.refresh().unwrap();
    let run = index.runs(&Filter::default(), 9).unwrap().0.remove(0);
    assert_eq!((run.finished, run.missing, run.trials), (false, 1, 1));
    fs::rename(scene.path("later"), &second).unwrap();
    index.refresh().unwrap();
    let run = index.runs(&Filter::default(), 9).unwrap().0.remove(0);
    assert_eq!((run.finished, run.missing, run.trials), (true, 0, 2));
    assert!(!index.add(&scene.path("nothing")).unwrap());
    // Restarted with another trial and killed.
    fs::remove_dir_all(&dir).unwrap();
    scene.run("runs/x", "alpha", 3_000_000, &[("a", 7, 100e3, 2_000.0)]);
    index.refresh().unwrap();
    let trials = index.trials(&Filter::default(), 9).unwrap().0;
    assert_eq!(trials.iter().map(|trial| trial.repeat).collect::<Vec<_>>(), [7]);
}

#[test]
fn a_trial_that_failed_is_listed_with_its_reason_and_without_figures() {
    let scene = Scene::new();
    let store = scene.run("x", "alpha", 1_000_000, &[("a", 1, 100e3, 2_000.0), ("b", 1, 90e3, 7_000.0)]);
    scene::fail(&store, "target=b,size=100B", 1);
    let mut index = scene.index();
    assert!(index.add(&scene.path("x")).unwrap());
    let failed = Filter { verdict: Some("failed".into()), ..Filter::default() };
    let trial = index.trials(&failed, 9).unwrap().0.remove(0);
    let figure = |one| trial.figures.get(one);
    assert_eq!(
        (trial.why.as_str(), figure(&figure::RATE), figure(&figure::P99)),
        ("it did not listen: last words", None, None)
    );
    let run = index.runs(&Filter::default(), 9).unwrap().0.remove(0);
    assert_eq!((run.verdicts["ok"], run.verdicts["failed"], run.missing), (1, 1, 1));
}

#[test]
fn moved_directories_are_found_and_missing_ones_marked() {
    let scene = Scene::new();
    for (dir, started) in [("x", 1_000_000), ("y", 2_000_000)] {
        scene.run(dir, "alpha", started, &[("a", 1, 100e3, 2_000.0)]);
    }
    let mut index = scene.index();
    index.rebuild(&[scene.path("")]).unwrap();
    fs::create_dir(scene.path("archive")).unwrap();
    fs::rename(scene.path("x"), scene.path("archive/x")).unwrap();
    fs::remove_dir_all(scene.path("y")).unwrap();
    let (runs, _) = index.runs(&Filter::default(), 9).unwrap();
    assert!(runs.iter().all(|run| run.gone), "{runs:?}");
    let here = scene.path("");
    let text = brunt_lab::history::runs_text(&runs, &here);
    assert!(text.contains("x (gone)") && text.contains("y (gone)"), "{text}");
    // Figures are kept.
    assert_eq!(index.trials(&Filter::default(), 9).unwrap().1, 2);
    let rebuilt = index.rebuild(&[scene.path("archive")]).unwrap();
    let at = |name: &str| here.join(name).to_str().unwrap().to_owned();
    assert_eq!(rebuilt.moved, [(at("x"), at("archive/x"))]);
    assert_eq!(rebuilt.forgotten, [at("y")]);
    assert_eq!(rebuilt.directories, 1);
    assert!(!index.runs(&Filter::default(), 9).unwrap().0[0].gone);
    let again = index.rebuild(&[]).unwrap();
    assert_eq!((again.directories, again.forgotten.len()), (1, 0));
}

#[test]
fn unreadable_results_are_listed_and_skipped() {
    let scene = Scene::new();
    scene.run("x", "alpha", 1_000_000, &[("a", 1, 100e3, 2_000.0)]);
    scene.run("y", "beta", 1_000_000, &[("a", 1, 100e3, 2_000.0)]);
    fs::write(scene.path("y/experiment.json"), "{ half").unwrap();
    write_single(&scene.path("z"), 1);
    fs::write(scene.path("z/result.json"), "").unwrap();
    let mut index = scene.index();
    let rebuilt = index.rebuild(&[scene.path("")]).unwrap();
    assert_eq!((rebuilt.directories, rebuilt.unreadable.len()), (1, 2), "{rebuilt:?}");
    assert!(rebuilt.unreadable.iter().any(|why| why.contains("y holds a run that cannot be read")), "{rebuilt:?}");
    let error = index.rebuild(&[scene.path("missing")]).unwrap_err();
    assert!(matches!(&error, brunt_results::Error::Usage(why) if why.contains("/missing: ")), "{error:?}");
    assert_eq!(index.runs(&Filter::default(), 9).unwrap().1, 1);
}

#[test]
fn a_table_of_trials_has_their_figures() {
    let scene = Scene::new();
    scene.run("x", "alpha", 1_000_000, &[("a", 1, 123_456.0, 2_345.0)]);
    let mut index = scene.index();
    index.rebuild(&[scene.path("")]).unwrap();
    let (trials, _) = index.trials(&Filter::default(), 9).unwrap();
    let text = brunt_lab::history::trials_text(&trials, &scene.path(""));
    let words: Vec<&str> = text.lines().nth(1).unwrap().split_whitespace().collect();
    let expected = "alpha a size=100B 123.5 1.17 ms 2.35 ms 4.69 ms 8.00 ok x/trials/target=a,size=100B/1";
    assert_eq!(words.join(" "), expected);
}
