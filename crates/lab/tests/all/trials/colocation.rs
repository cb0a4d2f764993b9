//! Targets with best-effort jobs beside them, under a scripted controller.

use super::{At, FIND_OUT, Scene, result};
use brunt_lab::plan::Style;
use brunt_lab::report::{self, Width, charts};
use brunt_lab::run::experiment::{Summary, run};
use brunt_lab::run_directory::{Colocated, Experiment};
use brunt_results::LatencySummary;
use brunt_results::directory::Directory;
use brunt_testkit::{is_running, program};
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// Two loads, one job, and these policies.
fn plan(policies: &str) -> String {
    format!(
        "rate = 1000\n[sweep]\nrate = [1000, 2000]\nco_runner = 'memory'\npolicy = [{policies}]\n\
         [colocation]\nslo = 'p99<6ms'\npeak = '10k'\n\
         [[co_runner]]\nname = 'memory'\ncommand = ['hog', '--core', '{{cores}}']\nprogress = '^progress (\\d+)'\n"
    )
    .replace("rate = 1000\n[", "[")
}

/// A controller that takes the plan, begins an audit log, and reports so much work in two seconds when it is told to end.
const CONTROLLER: &str = r#"#!/bin/sh
out=$(sed -n 's/^out = "\(.*\)"$/\1/p' "$3")
policy=$(sed -n 's/^policy = "\(.*\)"$/\1/p' "$3")
echo $$ >> HOME/controllers
work=100; [ "$policy" = none ] && work=400
end() {
    echo "{\"policy\":\"$policy\",\"seconds\":2.0,\"service\":{\"quantile\":0.99,\"limit_ms\":6,\"requests\":1,\"slow\":0,\"seconds\":1,\"bad_seconds\":0,\"load\":null},\"jobs\":{\"attempts\":1,\"done\":0,\"failed\":0,\"preempted\":1,\"progress\":$work,\"cpu_seconds\":1.0},\"allotment\":{\"cores\":0.25,\"frozen_seconds\":0,\"emergencies\":0,\"changes\":3},\"machine\":{\"service_cores\":0.3,\"job_cores\":0.25,\"total_cores\":0.6,\"lost\":0,\"memory_bytes_per_s\":2e9,\"service_network_bytes_per_s\":null,\"job_network_bytes_per_s\":null},\"controller\":{\"cpu\":0.001,\"memory_bytes\":1}}" > "$out/summary.json"
    exit 0
}
trap end TERM
mkdir -p "$out"
{
    echo '{"version":1,"policy":"graded"}'
    echo '{"now":0.0,"readings":{"requests":null},"allotment":{"cores":0.05},"reason":"hold"}'
    echo '{"now":0.1,"readings":{"requests":{"value":{"latency_ms":2.0},"age":0.1}},"allotment":{"cores":0.1},"reason":"grow"}'
    echo '{"now":0.2,"readings":{"requests":{"value":{"latency_ms":70.0},"age":0.1}},"allotment":{"cores":0.0},"reason":"emergency"}'
} > "$out/audit.new"
mv "$out/audit.new" "$out/audit.jsonl"
while :; do sleep 0.02; done
"#;

fn scene(policies: &str, controller: &str) -> Scene {
    let mut scene = Scene::with_echo(&plan(policies), &["a"]);
    let home = scene.home.path().to_owned();
    let mut measured = result();
    measured.latency.response = LatencySummary {
        count: 100_000,
        p50_us: Some(500.0),
        p99_us: Some(3000.0),
        p999_us: Some(9000.0),
        ..LatencySummary::default()
    };
    measured.host.cpu_percent = Some(60.0);
    fs::write(home.join("template.json"), serde_json::to_vec(&measured).unwrap()).unwrap();
    let brunt = home.join("controller");
    program(&brunt, &controller.replace("HOME", &home.display().to_string()));
    scene.brunt = brunt;
    scene
}

fn controllers(scene: &Scene) -> Vec<u32> {
    let pids = fs::read_to_string(scene.home.path().join("controllers")).unwrap_or_default();
    pids.lines().map(|pid| pid.parse().unwrap()).collect()
}

#[track_caller]
fn assert_none_left(scene: &Scene) {
    assert!(controllers(scene).into_iter().all(|pid| !is_running(pid)), "a controller is still there");
    assert!(scene.pids().into_iter().all(|pid| !is_running(pid)), "a target is still there");
}

const ALONE: &str = "target=a,rate=1k,co_runner=memory,policy=alone";
const GRADED: &str = "target=a,rate=1k,co_runner=memory,policy=graded";

#[test]
fn each_policy_has_its_trials_and_the_job_is_measured_once_without_load() {
    let scene = scene("'alone', 'none', 'graded'", CONTROLLER);
    assert_eq!(scene.run().unwrap(), Summary { interrupted: false, resumed: 0, run: 12 });
    // Two loads, two policies with jobs and two repeats, and the job alone in each repeat.
    assert_eq!(controllers(&scene).len(), 10);
    assert_none_left(&scene);
    let store = scene.store();
    let alone = store.colocated(ALONE, 1).unwrap();
    assert_eq!((alone.summary, alone.unloaded, alone.peak), (None, None, 10_000.0));
    let graded: Colocated = store.colocated(GRADED, 2).unwrap();
    assert_eq!(graded.summary.unwrap().jobs.progress, Some(100.0));
    assert_eq!(graded.unloaded.unwrap().policy, "none");

    let dir = store.trial(GRADED, 1);
    let plan: toml::Table = fs::read_to_string(dir.join("colocate.toml")).unwrap().parse().unwrap();
    let pid = plan["service"]["pid"].as_integer().unwrap() as u32;
    assert!(scene.pids().contains(&pid), "the service is the target");
    assert_eq!(plan["job"][0]["command"][2], plan["cores"], "the jobs are on the server's cores");
    assert_eq!((plan["service"]["slo"].as_str(), plan["job"][0]["repeat"].as_bool()), (Some("p99<6ms"), Some(true)));
    let counts = plan["source"]["file"].as_str().unwrap();
    let tester = store.record(GRADED, 1).unwrap().tester.join(" ");
    assert!(tester.contains(&format!("--counts {counts}")) && tester.contains("--slo"), "{tester}");
    let tester = store.record(ALONE, 1).unwrap().tester.join(" ");
    assert!(!tester.contains("--counts"), "{tester}");

    // A trial that was cut off before its record is complete is run again, with the baseline of its repeat.
    let cut = Colocated { is_complete: false, ..store.colocated(GRADED, 1).unwrap() };
    Directory::open(&dir).write_json(Colocated::FILE, &cut).unwrap();
    assert_eq!(scene.run().unwrap(), Summary { interrupted: false, resumed: 11, run: 1 });
    assert_eq!(controllers(&scene).len(), 11);
}

#[test]
fn the_policies_of_a_load_are_measured_next_to_each_other() {
    let scene = scene("'alone', 'none', 'graded'", CONTROLLER);
    let (_, schedule) = scene.prepare();
    let loads: Vec<String> =
        schedule.order.iter().map(|trial| format!("{:?} {}", schedule.cell(*trial).rate(), trial.repeat)).collect();
    assert_eq!(loads.chunk_by(|a, b| a == b).map(<[String]>::len).collect::<Vec<_>>(), [3, 3, 3, 3]);
}

#[test]
fn the_report_has_the_layouts_the_heat_map_and_the_timeline() {
    let scene = scene("'alone', 'none', 'graded'", CONTROLLER);
    scene.run().unwrap();
    let report = report::read(&scene.out()).unwrap();
    let text = report::text(&report, Style::Interference, Width::Wide);
    let row = |policy: &str| {
        let line = text.lines().find(|line| line.contains(policy)).unwrap_or_else(|| panic!("{policy}: {text}"));
        line.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    // 5000 of 10,000 requests a second, and a quarter, or all, of the work of the job alone.
    assert!(row("alone").join(" ").contains("50.0 [50.0 50.0]"), "{text}");
    assert!(row("unmanaged").join(" ").contains("100.0 [100.0 100.0] 150.0"), "{text}");
    assert!(row("graded").join(" ").contains("25.0 [25.0 25.0] 75.0"), "{text}");
    let seed = report::text(&report, Style::Heracles, Width::Wide);
    for part in ["baseline", "memory, unmanaged", "memory, graded", "LC / total", "1000", "2000"] {
        assert!(seed.contains(part), "{part}: {seed}");
    }
    let charts = charts(&report);
    let files: Vec<&str> = charts.iter().map(|chart| chart.file.as_str()).collect();
    assert_eq!(files, ["p99-in-percent-of-its-limit.svg", "decisions-over-time.svg"]);
    let svgs: Vec<String> = charts.iter().map(|chart| chart.svg().unwrap()).collect();
    assert!(svgs[0].contains("\n50\n") && svgs[0].contains("unmanaged"), "3 of 6 ms are 50 %");
    assert!(svgs[1].contains("emergency") && svgs[1].contains("up to 70.0 ms"), "{}", svgs[1]);
    let page = fs::read_to_string(scene.out().join("report.html")).unwrap_or_else(|_| {
        report::write(&report, &scene.store()).unwrap();
        fs::read_to_string(scene.out().join("report.html")).unwrap()
    });
    assert!(page.contains("BE allotment") && page.contains("Decisions over time"));
    let experiment: Experiment = scene.store().experiment().unwrap().unwrap();
    assert_eq!(experiment.cells.run.len(), 6);
}

#[test]
fn a_controller_that_fails_fails_its_trial_with_its_own_words() {
    let bad = [
        (
            "#!/bin/sh\necho plan: no such policy >&2; exit 2\n",
            "brunt colocate run ended with status 2: plan: no such policy",
        ),
        (&CONTROLLER.replace("> \"$out/summary.json\"", "> /dev/null"), "brunt colocate run left no summary.json"),
        (&CONTROLLER.replace("exit 0", "echo no cgroup >&2; exit 1"), "brunt colocate run ended with status 1: "),
        (&CONTROLLER.replace("\\\"failed\\\":0", "\\\"failed\\\":7"), "co-runner 'memory' failed: its output is in"),
    ];
    for (controller, said) in bad {
        let scene = scene("'graded'", controller);
        scene.run().unwrap();
        let failure = scene.failure("target=a,rate=1k,co_runner=memory,policy=graded");
        assert!(failure.contains(said), "{said}: {failure}");
        assert_none_left(&scene);
    }
}

#[test]
fn a_controller_that_dies_under_load_ends_its_trial() {
    let mut scene = scene("'graded'", CONTROLLER);
    let kill = "kill -9 $(tail -n 1 HOME/controllers); sleep 60".replace("HOME", &path(scene.home.path()));
    scene.tester = format!("{FIND_OUT}{kill}");
    scene.run().unwrap();
    let failure = scene.failure(GRADED);
    assert!(failure.contains("brunt colocate run was killed by signal 9 under load"), "{failure}");
    assert_none_left(&scene);
}

fn path(path: &Path) -> String {
    path.display().to_string()
}

#[test]
fn a_stopped_run_leaves_neither_controller_nor_target() {
    let mut scene = scene("'graded'", CONTROLLER);
    scene.tester = "sleep 60".to_owned();
    let stop = AtomicBool::new(false);
    let (request, schedule) = scene.prepare();
    let summary = run(&request, &schedule, &mut At(1, || stop.store(true, Ordering::Relaxed)), &stop).unwrap();
    assert_eq!((summary.interrupted, summary.run), (true, 0));
    assert_eq!(controllers(&scene).len(), 2, "one without load, one with it");
    assert_none_left(&scene);
}
