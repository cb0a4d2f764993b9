//! `brunt colocate probe`: what it says agrees with what can be done.

use super::scene::{BRUNT, Scene, knobs};
use brunt_testkit::{alone, told};
use std::fs;
use std::process::Command;

#[test]
fn every_resource_is_probed_and_nothing_is_left() {
    let _alone = alone();
    let home = brunt_testkit::home();
    let probe = |args: &[&str]| {
        let mut command = Command::new(BRUNT);
        command.args(["colocate", "probe"]).args(args).env("BRUNT_STATE_DIR", home.path()).output().unwrap()
    };
    let before = knobs();
    let Some(scene) = Scene::new() else {
        let (_, stderr) = told(&probe(&[]), 1);
        assert!(stderr.contains("no control group that can be frozen"), "{stderr}");
        return;
    };
    let (stdout, stderr) = told(&probe(&["--json"]), 0);
    let probed: serde_json::Value = serde_json::from_str(&stdout).unwrap();
    for (mine, theirs) in scene.actuators.capabilities().iter().zip(probed["limits"].as_array().unwrap()) {
        assert_eq!(serde_json::json!(mine.name), theirs["name"], "{stdout}");
        assert_eq!(mine.available, theirs["available"], "{stdout}");
        assert!(mine.available || theirs["consequence"].is_string(), "{stdout}");
    }
    let signals = probed["signals"].as_array().unwrap();
    assert!(signals.iter().all(|one| one["available"] == true || one["consequence"].is_string()), "{stdout}");
    // What every Linux has.
    for name in ["lost-time", "service-cpu"] {
        assert!(signals.iter().any(|one| one["name"] == name && one["available"] == true), "{stdout}");
    }
    assert_eq!((stderr.as_str(), fs::read_dir(home.path().join("colocate")).unwrap().count()), ("", 0));
    let (stdout, _) = told(&probe(&[]), 0);
    assert!(stdout.starts_with("Limits of jobs\nfreezer          yes  "), "{stdout}");
    let (stdout, _) = told(&probe(&["--memory", "--json"]), 0);
    let memory = &serde_json::from_str::<serde_json::Value>(&stdout).unwrap()["memory"];
    assert!(memory["peak"].as_u64().unwrap() > 1 << 28, "{stdout}");
    assert_ne!(memory["bytes_per_miss"].is_number(), memory["why"].is_string(), "{stdout}");
    let (_, stderr) = told(&probe(&["--interface", "no-such-interface"]), 1);
    assert!(stderr.starts_with("error: interface 'no-such-interface': there is none"), "{stderr}");
    let (_, stderr) = told(&probe(&["--disk", "/proc/self"]), 1);
    assert!(stderr.contains("/proc/self") && stderr.contains("no block device"), "{stderr}");
    assert_eq!(knobs(), before);
    scene.end();
}
