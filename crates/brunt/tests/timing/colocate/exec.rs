//! `brunt colocate exec`: the program runs inside the group from its first instruction.

use super::scene::{BRUNT, Scene, exec, until};
use brunt_colocate::allotment::Allotment;
use brunt_colocate::cgroup::JobLimits;
use brunt_testkit::{alone, told};
use std::process::Command;
use std::{fs, os::unix::fs::PermissionsExt};

#[test]
fn the_program_is_in_every_directory_and_first_to_be_killed() {
    let _alone = alone();
    let Some(scene) = Scene::new() else { return };
    let job = scene.actuators.group().job("1", &JobLimits::default()).unwrap();
    let mut command = exec(job.dirs());
    command.args(["--", "sh", "-c", "cat /proc/self/cgroup /proc/self/oom_score_adj; echo $BRUNT_COLOCATE; exit 7"]);
    let (stdout, stderr) = told(&command.output().unwrap(), 7);
    let name = scene.actuators.group().name();
    let inside = stdout.lines().filter(|line| line.contains(&format!("/{name}"))).count();
    assert_eq!(inside, job.dirs().len(), "{stdout}");
    assert!(stdout.contains(&format!("/{name}/job-1\n")) && stdout.ends_with(&format!("1000\n{name}\n")), "{stdout}");
    assert_eq!(stderr, "");
    job.remove().unwrap();
    scene.end();
}

#[test]
fn what_cannot_be_started_has_a_documented_status() {
    let _alone = alone();
    let Some(scene) = Scene::new() else { return };
    let dirs = scene.actuators.dirs();
    let home = scene.home();
    let text = home.join("text");
    fs::write(&text, "no program").unwrap();
    fs::set_permissions(&text, fs::Permissions::from_mode(0o644)).unwrap();
    let run = |program: &str| exec(&dirs).args(["--", program]).output().unwrap();
    let (_, stderr) = told(&run("no-such-program"), 127);
    assert!(stderr.starts_with("error: no-such-program: ") && stderr.lines().count() == 1, "{stderr}");
    let (_, stderr) = told(&run(text.to_str().unwrap()), 126);
    assert!(stderr.contains("text: Permission denied"), "{stderr}");
    let none = exec(&[home.join("no-group")]).args(["--", "true"]).output().unwrap();
    let (_, stderr) = told(&none, 125);
    assert!(stderr.contains("no-group"), "{stderr}");
    let parent = exec(&dirs).args(["--parent", "1", "--", "true"]).output().unwrap();
    let (_, stderr) = told(&parent, 125);
    assert!(stderr.contains("process 1") && stderr.contains("is gone"), "{stderr}");
    told(&Command::new(BRUNT).args(["colocate", "exec", "--group", "x"]).output().unwrap(), 2);
    scene.end();
}

#[test]
fn a_job_of_a_frozen_group_begins_when_it_is_thawed() {
    let _alone = alone();
    let Some(mut scene) = Scene::new() else { return };
    assert_eq!(scene.actuators.apply(Allotment::FROZEN).faults, []);
    let mut child = scene.start(&scene.actuators.dirs(), "touch begun", &[]);
    until("the process is in the group", || !scene.actuators.group().members().is_empty());
    until("it is frozen", || scene.actuators.group().is_frozen());
    assert!(!scene.home().join("begun").exists());
    assert_eq!(scene.actuators.apply(Allotment::cores(0.3)).faults, []);
    assert!(child.wait().unwrap().success() && scene.home().join("begun").exists());
    scene.end();
}

#[test]
fn a_job_whose_starter_has_gone_is_not_started() {
    let _alone = alone();
    let Some(scene) = Scene::new() else { return };
    let mut command = Command::new(BRUNT);
    command.args(["colocate", "exec", "--parent", "1"]);
    scene.actuators.dirs().iter().for_each(|dir| _ = command.arg("--group").arg(dir));
    let output = command.args(["--", "true"]).output().unwrap();
    assert_eq!(output.status.code(), Some(125), "{output:?}");
    assert!(
        String::from_utf8_lossy(&output.stderr).contains("process 1, which started this job, is gone"),
        "{output:?}"
    );
    scene.end();
}
