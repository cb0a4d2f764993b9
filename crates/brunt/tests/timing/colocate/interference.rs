//! `brunt run` of a plan with co-runners: each policy has figures of service and jobs, and nothing is left.

use super::scene::{BRUNT, Scene, knobs};
use brunt_results::colocation::Summary;
use brunt_testkit::{alone, told};
use serde_json::Value;
use std::path::Path;
use std::process::Command;
use std::{fs, thread};

const PLAN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../experiments/interference-quick.toml");

fn record(out: &Path, policy: &str) -> Value {
    let trial = format!("trials/target=echo,rate=2k,co_runner=cpu,policy={policy}/1/colocation.json");
    serde_json::from_slice(&fs::read(out.join(trial)).unwrap()).unwrap()
}

#[test]
fn a_plan_measures_service_and_jobs_under_each_policy() {
    let _alone = alone();
    // The jobs are on the service's core, the generator is on another one.
    if Scene::new().map(Scene::end).is_none() || thread::available_parallelism().unwrap().get() < 2 {
        return println!("skipped: no groups or one core");
    }
    let (before, home) = (knobs(), brunt_testkit::home());
    let out = home.path().join("out");
    let brunt = |args: &[&str]| {
        let mut command = Command::new(BRUNT);
        command.args(args).current_dir(home.path()).env("BRUNT_STATE_DIR", home.path().join("state"));
        command.output().unwrap()
    };
    let only = "rate=2k,co_runner=cpu,policy=alone,policy=none,policy=graded";
    let args = ["run", PLAN, "--only", only, "--duration", "1s", "--set", "warmup=300ms", "--out", "out", "--quiet"];
    let (stdout, _) = told(&brunt(&args), 0);
    for words in ["beside cpu (CPU time)", "alone", "unmanaged", "graded"] {
        assert!(stdout.contains(words), "{words}: {stdout}");
    }
    assert_eq!(record(&out, "alone")["summary"], Value::Null);
    for policy in ["none", "graded"] {
        let record = record(&out, policy);
        let [here, alone]: [Summary; 2] =
            ["summary", "unloaded"].map(|key| serde_json::from_value(record[key].clone()).unwrap());
        assert_eq!((here.policy.as_str(), alone.policy.as_str()), (policy, "none"));
        assert!(alone.jobs.progress.is_some_and(|work| work > 0.0), "{alone:?}");
        assert!(here.service.requests > 0, "the controller saw the load's counts: {here:?}");
        assert_eq!(record["seconds"]["all"], 1);
    }
    let (tables, _) = told(&brunt(&["report", "out", "--style", "heracles"]), 0);
    assert!(tables.contains("baseline") && tables.contains("cpu, unmanaged"), "{tables}");
    assert!(fs::read_to_string(out.join("report.html")).unwrap().contains("in percent of its limit"));
    assert_eq!(knobs(), before);
}
