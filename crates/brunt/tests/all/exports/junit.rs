//! `--junit FILE` of each command that has it, as junitparser reads it.

use super::scene::{Scene, write};
use crate::shared::consumers::{is, no_reader, read};
use crate::shared::web_load::{Load, web};

#[test]
fn of_a_load() {
    if no_reader() {
        return;
    }
    let (web, home) = (web("--service hello"), brunt_testkit::home());
    let file = home.path().join("load.xml");
    let flags = "-n 50 -c 1 --warmup 0s --no-meter --fail-if p50>1ns --fail-if failed>0 --junit";
    let ended = Load::start(web.address(), &format!("{flags} {}", file.display())).end_in_any_way();
    assert_eq!(ended.code, Some(99), "{}", ended.stderr);
    let cases = read(&file, "brunt load");
    assert!(is(&cases[0], "p50>1ns", "Failure", "p50>1ns: it was "), "{cases:?}");
    assert_eq!(
        (cases[1].0.as_str(), cases[1].1.len(), cases[2].0.as_str(), cases.len()),
        ("failed>0", 0, "verdict", 3)
    );
}

#[test]
fn of_a_comparison() {
    if no_reader() {
        return;
    }
    let scene = Scene::new();
    for (side, is_http) in [("a", false), ("b", true)] {
        (0..4).for_each(|repeat| write(&scene.home.path().join(format!("{side}/{repeat}")), is_http));
    }
    scene.brunt(&["compare", "a", "b", "--fail-if", "rate<-50%", "--junit", "compare.xml", "--allow-untrusted"]);
    let cases = read(&scene.home.path().join("compare.xml"), "brunt compare");
    assert_eq!((cases[0].0.as_str(), cases[0].1.len()), ("rate<-50%", 0));
    assert!(cases.len() == 2 && cases[1].0.starts_with("trust"), "{cases:?}");
}

#[test]
fn of_a_run() {
    if no_reader() {
        return;
    }
    let scene = Scene::with_run();
    let again = ["run", "plan.toml", "--quiet", "--tester", "sh", "--out", "again", "--junit", "run.xml"];
    scene.brunt(&again);
    let cases = read(&scene.home.path().join("run.xml"), "brunt run");
    let names: Vec<&str> = cases.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names[..2], ["target=echo,size=100B", "target=echo,size=1KiB"], "{cases:?}");
}
