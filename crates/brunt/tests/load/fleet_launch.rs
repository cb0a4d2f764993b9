//! What `brunt fleet launch` prints is what Kubernetes and Slurm take, and starts agents that make a load.

mod slurm;

use crate::shared::consumers::{lacks, runs};
use crate::shared::fleet::{Fleet, is_here};
use crate::shared::target::{Target, json};
use brunt_testkit::{Running, assert_code, home, text, told, until};
use serde_json::Value;
use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Output, Stdio};

#[track_caller]
fn printed(words: &str) -> String {
    let mut launch = Command::new(env!("CARGO_BIN_EXE_brunt"));
    told(&launch.args(["fleet", "launch"]).args(words.split_whitespace()).output().unwrap(), 0).0
}

/// Reads a manifest with the types of Kubernetes. Built by `go build` in the folder `kubernetes` beside this file.
fn read(home: &Path, manifest: &str) -> Output {
    let path = home.join("manifest.yaml");
    fs::write(&path, manifest).unwrap();
    Command::new("kubernetes-pods").stdin(File::open(path).unwrap()).output().unwrap()
}

#[track_caller]
fn pods(home: &Path, manifest: &str) -> Vec<Value> {
    serde_json::from_str(&told(&read(home, manifest), 0).0).unwrap()
}

/// A load of these agents, which all take part in.
#[track_caller]
fn assert_load(fleet: &Fleet, target: &Target, ids: &[String]) {
    until("all agents are there", || fleet.agents().len() == ids.len());
    let words = format!("--on {} -c 4 -R 200 -d 500ms --json - --quiet --allow-untrusted", ids.len());
    let output = fleet.run(&format!("load {} {words}", target.url()));
    assert_code(&output, &[0]);
    let agents = json(&output)["fleet"]["agents"].clone();
    let agents = agents.as_array().unwrap();
    assert_eq!(agents.iter().map(|agent| agent["id"].as_str().unwrap()).collect::<Vec<_>>(), ids);
    assert!(agents.iter().all(|agent| agent["completed"].as_u64() > Some(0)), "{agents:?}");
}

#[test]
fn a_manifest_has_keys_and_names_that_kubernetes_knows() {
    if lacks("kubernetes", runs("sh", &["-c", "command -v kubernetes-pods"])) {
        return;
    }
    let home = home();
    let longest = "n".repeat(50);
    for (words, name, count, args) in [
        ("--agents 1 --image b", "brunt-agent", 1, 0),
        ("--agents 3 --image r.example:5000/brunt@sha256:0f --cores 16 --time 1s --name 0x", "0x", 3, 0),
        ("--agents 2 --image b:1 --allow 10.0.0.0/8 --allow [fd00::]/8:443,80-90 --time 1h30m", "brunt-agent", 2, 4),
        (&format!("--agents 10000 --image b --name {longest} --cores 1024"), &longest, 10_000, 0),
    ] {
        let pods = pods(&home, &printed(&format!("kubernetes {words}")));
        assert_eq!(pods.len(), count, "{words}");
        for (number, pod) in pods.iter().enumerate() {
            let of_pod = pod["args"].as_array().unwrap();
            assert_eq!((&of_pod[4], of_pod.len()), (&Value::from(format!("{name}-{number}")), 5 + args), "{pod}");
            // The user of the image is in the group, and owns nothing there.
            assert_eq!((&pod["mounts"]["/fleet"], &pod["modes"]["/fleet"]), (&name.into(), &0o440.into()));
        }
    }
    let manifest = printed("kubernetes --agents 2 --image b");
    for (old, new) in [
        ("backoffLimit", "backOffLimit"),
        ("cpu: \"1\"", "cpu: \"one\""),
        ("(INDEX)", "(RANK)"),
        ("name: fleet", "name: key"),
    ] {
        assert!(!read(&home, &manifest.replacen(old, new, 1)).status.success(), "{old} is {new}");
    }
}

#[test]
fn the_containers_of_a_job_make_a_load() {
    if !is_here() || lacks("kubernetes", runs("sh", &["-c", "command -v kubernetes-pods"])) {
        return;
    }
    let (fleet, target) = (Fleet::up(0), Target::start());
    let key = fleet.key("pod-*").display().to_string();
    let words = format!("kubernetes --agents 2 --image brunt --name pod --allow 127.0.0.1:{}", target.port());
    let mut agents = Vec::new();
    for pod in pods(fleet.home(), &printed(&words)) {
        let mut agent = Command::new(env!("CARGO_BIN_EXE_brunt"));
        // The secret is mounted here.
        let place = |arg: &str| arg.replace("/fleet/agent.fleet", &key);
        agent.args(pod["args"].as_array().unwrap().iter().map(|arg| place(arg.as_str().unwrap())));
        agent.env("BRUNT_STATE_DIR", fleet.home().join("state")).stdin(Stdio::null()).stderr(Stdio::null());
        agents.push(Running::start(&mut agent));
    }
    assert_load(&fleet, &target, &["pod-0".to_owned(), "pod-1".to_owned()]);
}

#[test]
fn a_batch_script_starts_an_agent_on_each_node_of_slurm() {
    if !is_here() || !slurm::is_here() {
        return;
    }
    let (fleet, target, cluster) = (Fleet::up(0), Target::start(), slurm::Cluster::start());
    let (key, brunt) = (fleet.key("of-slurm-*").display().to_string(), env!("CARGO_BIN_EXE_brunt"));
    let allow = format!("--allow 127.0.0.1:{} --allow [::1]/128:80,443", target.port());
    let words = format!("--agents 2 --time 10m --name of-slurm --fleet {key} --program {brunt} {allow}");
    let script = fleet.home().join("agents.sh");
    fs::write(&script, printed(&format!("slurm {words}"))).unwrap();
    if !lacks("shellcheck", runs("shellcheck", &["--version"])) {
        let output = Command::new("shellcheck").arg(&script).output().unwrap();
        assert!(output.status.success(), "{}", text(&output));
    }
    let sbatch = |flag: &str| {
        let mut sbatch = cluster.command("sbatch");
        sbatch.arg(flag).arg(&script).env("BRUNT_STATE_DIR", fleet.home().join("state")).output().unwrap()
    };
    let output = sbatch("--test-only");
    assert!(output.status.success() && text(&output).contains("on nodes n[1-2]"), "{}", text(&output));
    let (job, _) = told(&sbatch("--parsable"), 0);
    assert_load(&fleet, &target, &["of-slurm-0".to_owned(), "of-slurm-1".to_owned()]);
    // What is ended by the cluster leaves the fleet.
    told(&cluster.command("scancel").arg(job.trim()).output().unwrap(), 0);
    until("no agent is there", || fleet.agents().is_empty());
}
