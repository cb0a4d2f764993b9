//! Jobs that misbehave: none takes more than it was given, and none is left.

use super::scene::{Scene, exec, has_ended, until};
use brunt_colocate::actuators::Resource;
use brunt_colocate::allotment::Allotment;
use brunt_colocate::cgroup::{Group, JobLimits};
use brunt_colocate::journal::Journal;
use brunt_meter::cgroup::{Linux, Version, hierarchies};
use brunt_testkit::{LIMIT, alone};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{fs, thread};

/// Forks without end, also after forks that failed.
const STORM: &str = "$SIG{CHLD} = 'IGNORE'; while (1) { defined fork or select undef, undef, undef, 0.001 }";

fn has(scene: &Scene, resource: Resource) -> bool {
    let found = scene.actuators.capabilities().into_iter().find(|one| one.name == resource).unwrap();
    if !found.available {
        println!("skipped: {resource}: {}", found.evidence);
    }
    found.available
}

#[test]
fn a_fork_storm_is_bounded_and_killed() {
    let _alone = alone();
    let Some(mut scene) = Scene::new() else { return };
    if !has(&scene, Resource::Processes) {
        return;
    }
    let mut child = exec(&scene.actuators.dirs()).args(["--", "perl", "-e", STORM]).spawn().unwrap();
    let limit = 64;
    until("the storm has begun", || scene.actuators.group().members().len() > 8);
    for _ in 0..20 {
        let usage = scene.actuators.group().usage();
        assert!(usage.processes.unwrap() <= limit, "{usage:?}");
        thread::sleep(Duration::from_millis(20));
    }
    let killed = scene.actuators.kill();
    println!("killed in {:?}", killed.took);
    assert_eq!(killed.faults, []);
    assert_eq!(scene.actuators.group().members().len(), 0);
    child.wait().unwrap();
    // The group can be used further.
    assert!(scene.start(&scene.actuators.dirs(), "exit 0", &[]).wait().unwrap().success());
    scene.end();
}

/// What is left of a group is undone, also after a failure.
struct Undone(Option<Journal>);

impl Undone {
    fn undo(&mut self) -> Vec<String> {
        self.0.take().map_or_else(Vec::new, |journal| journal.undo(&Linux))
    }
}

impl Drop for Undone {
    fn drop(&mut self) {
        self.undo();
    }
}

/// The same where only version 1 can freeze and nothing kills a group at once.
#[test]
fn a_fork_storm_in_version_one_is_frozen_and_killed() {
    let _alone = alone();
    let home = brunt_testkit::home();
    let mut journal = Undone(Some(Journal::create(&home.path().join("a.journal")).unwrap()));
    let mut one = hierarchies();
    one.retain(|hierarchy| hierarchy.version == Version::One);
    let group = match Group::create(Arc::new(Linux), &one, false, journal.0.as_mut().unwrap()) {
        Ok(group) => group,
        Err(why) => return println!("skipped: {why}"),
    };
    for (name, value) in [("pids.max", "64"), ("cpu.cfs_quota_us", "30000")] {
        group.file(&[name]).map_or(Ok(()), |file| fs::write(file, value)).unwrap();
    }
    let job = group.job("storm", &JobLimits::default()).unwrap();
    let mut child = exec(job.dirs()).args(["--", "perl", "-e", STORM]).spawn().unwrap();
    until("the storm has begun", || group.members().len() > 8);
    group.freeze().unwrap();
    until("it is frozen", || group.is_frozen());
    let before = group.usage().cpu;
    thread::sleep(Duration::from_millis(100));
    assert_eq!(group.usage().cpu, before);
    group.kill(LIMIT).unwrap();
    assert_eq!(group.members().len(), 0);
    child.wait().unwrap();
    assert_eq!(journal.undo(), Vec::<String>::new());
    assert!(group.dirs().iter().all(|dir| !dir.exists()));
}

#[test]
fn a_memory_hog_is_killed_alone() {
    let _alone = alone();
    let Some(scene) = Scene::new() else { return };
    if !has(&scene, Resource::Memory) {
        return;
    }
    let mut bystander = scene.start(&scene.actuators.dirs(), "exec sleep 1000", &[]);
    // A line without an end, kept whole.
    let mut hog = scene.start(&scene.actuators.dirs(), "exec tail -n 1 /dev/zero", &[]);
    assert!(!hog.wait().unwrap().success());
    let usage = scene.actuators.group().usage();
    assert!(
        usage.oom_kills.is_none_or(|kills| kills > 0) && usage.memory.is_some_and(|bytes| bytes <= 64 << 20),
        "{usage:?}"
    );
    assert!(bystander.try_wait().unwrap().is_none());
    bystander.kill().unwrap();
    bystander.wait().unwrap();
    scene.end();
}

#[test]
fn daemons_and_jobs_that_ignore_sigterm_end_with_their_job() {
    let _alone = alone();
    let Some(scene) = Scene::new() else { return };
    let group = scene.actuators.group();
    let [job, other] = ["daemon", "other"].map(|id| group.job(id, &JobLimits::default()).unwrap());
    let script = "trap '' TERM HUP INT; setsid sh -c 'trap \"\" TERM; setsid sleep 1000 & sleep 1000 &' & exit 0";
    assert!(scene.start(job.dirs(), script, &[]).wait().unwrap().success());
    let mut stubborn = scene.start(other.dirs(), "trap '' TERM; while :; do sleep 1000; done", &[]);
    // A process that enters is a member of the group before it is one of its job.
    until("all run", || group.members().len() >= 4 && !job.is_empty() && !other.is_empty());
    let pids: Vec<u32> = group.members().into_iter().collect();
    job.kill(LIMIT).unwrap();
    assert!(job.is_empty() && !other.is_empty());
    assert!(stubborn.try_wait().unwrap().is_none());
    job.remove().and(other.remove()).unwrap();
    stubborn.wait().unwrap();
    until("all have ended", || pids.iter().all(|pid| has_ended(*pid)));
    scene.end();
}

#[test]
fn a_job_that_leaves_its_group_is_brought_back_and_killed() {
    let _alone = alone();
    let Some(scene) = Scene::new() else { return };
    let group = scene.actuators.group();
    let parents: Vec<_> = group.dirs().iter().map(|dir| dir.parent().unwrap().join("cgroup.procs")).collect();
    let args: Vec<&OsStr> = parents.iter().map(|file| file.as_os_str()).collect();
    let script = "for procs; do echo $$ >\"$procs\"; done; touch gone; exec sleep 1000";
    let mut child = scene.start(group.dirs(), script, &args);
    until("it has left", || scene.home().join("gone").exists());
    assert_eq!(group.members().len(), 0);
    until("it is the program", || fs::read_to_string(format!("/proc/{}/comm", child.id())).unwrap() == "sleep\n");
    assert_eq!(group.recapture(), BTreeSet::from([child.id()]));
    assert_eq!(group.members().into_iter().collect::<Vec<_>>(), [child.id()]);
    assert!(group.recapture().is_empty());
    // Again, and it is still outside when the group is removed.
    let moved = parents.iter().all(|procs| fs::write(procs, child.id().to_string()).is_ok());
    assert!(moved && group.members().is_empty());
    scene.end();
    assert!(!child.wait().unwrap().success());
}

/// CPU time follows the allotment, and a frozen group uses none.
#[test]
fn allotments_hold() {
    let _alone = alone();
    let Some(mut scene) = Scene::new() else { return };
    if !has(&scene, Resource::Cpu) || scene.actuators.group().file(&["cpu.max", "cpu.cfs_quota_us"]).is_none() {
        return;
    }
    let mut child = scene.start(&scene.actuators.dirs(), "while :; do :; done", &[]);
    until("it runs", || scene.actuators.group().usage().cpu.unwrap() > Duration::from_millis(20));
    for cores in [0.1, 0.4, 0.0, 0.05] {
        // A process that waits for its quota freezes when it gets that.
        let took = until("the allotment is in effect", || {
            let applied = scene.actuators.apply(Allotment::cores(cores));
            assert_eq!(applied.faults, []);
            !applied.is_freezing
        });
        println!("{cores} cores in effect after {took:?}");
        let (begin, before) = (Instant::now(), scene.actuators.group().usage().cpu.unwrap());
        let used = || scene.actuators.group().usage().cpu.unwrap() - before;
        thread::sleep(Duration::from_millis(500));
        if cores == 0.0 {
            assert_eq!(used(), Duration::ZERO);
        }
        // A period's quota may remain from before. What the kernel accounts late, as after a pause of the machine, it takes back
        // from later periods.
        until("no more CPU time was used than allotted", || {
            used() <= begin.elapsed().mul_f64(cores) + Duration::from_millis(30)
        });
    }
    assert_eq!(scene.actuators.kill().faults, []);
    child.wait().unwrap();
    scene.end();
}
