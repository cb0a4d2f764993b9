//! The highest rates of agents.

use super::fleet::stderr;
use crate::shared::fleet::{Fleet, is_here};
use crate::shared::target::{Target, json};
use brunt_testkit::{assert_code, text};

#[test]
fn each_agent_measures_what_it_could_make() {
    if !is_here() {
        return;
    }
    let (fleet, target) = (Fleet::up(2), Target::start_web());
    let words = format!("load {} --on 2 -c 4 -R 200 -d 1 --calibrate", target.http("/"));
    let output = fleet.run(&format!("{words} --json - --quiet --allow-untrusted"));
    assert_code(&output, &[0]);
    let result = json(&output);
    let agents = result["fleet"]["agents"].as_array().unwrap();
    let ceilings: Vec<f64> = agents.iter().map(|agent| agent["ceiling_rate"].as_f64().unwrap()).collect();
    // Much more than each has made.
    assert!(ceilings.len() == 2 && ceilings.iter().all(|rate| *rate > 1000.0), "{ceilings:?}");
    assert!(result["generator"]["ceiling_rate"].is_null(), "{result:#}");
    // Nor is one of a server that answers nothing, or without being asked for.
    let output =
        fleet.run(&format!("load {} --on 2 -c 4 -R 200 -d 1 --json - --quiet --allow-untrusted", target.url()));
    let result = json(&output);
    assert!(result["fleet"]["agents"][0]["ceiling_rate"].is_null(), "{result:#}");
    fleet.until_idle();
}

#[test]
fn a_ceiling_that_cannot_be_measured_is_refused_before_the_load() {
    if !is_here() {
        return;
    }
    let (fleet, target) = (Fleet::up(1), Target::start_web());
    let folder = tempfile::tempdir().unwrap();
    let (body, script) = (folder.path().join("body"), folder.path().join("script.lua"));
    std::fs::write(&body, "x").unwrap();
    std::fs::write(&script, "function request() return wrk.format('GET', '/') end").unwrap();
    for (flags, needle) in [
        (format!("--body @{}", body.display()), "--calibrate and --on: agents have the files of a load"),
        (format!("-s {}", script.display()), "--calibrate and --script: "),
    ] {
        let output = fleet.run(&format!("load {} --on 1 -c 1 -n 1 --calibrate --quiet {flags}", target.http("/")));
        assert_code(&output, &[2]);
        assert!(stderr(&output).contains(needle) && stderr(&output).lines().count() == 1, "{}", text(&output));
    }
    fleet.until_idle();
}
