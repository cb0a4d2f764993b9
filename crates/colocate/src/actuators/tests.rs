use super::resctrl::Resctrl;
use super::*;
use crate::cgroup::JobLimits;
use crate::clock::given::Given;
use crate::fake::{Fake, LAYOUTS, Layout, RESCTRL};
use crate::journal::{Recovered, recover};
use proptest::prelude::*;
use rustix::io::Errno;
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;

const FLOOR: f64 = 0.1;

struct Scene {
    fake: Arc<Fake>,
    journal: Journal,
    disk: Option<DiskLimit>,
    _home: tempfile::TempDir,
}

impl Scene {
    fn new(layout: Layout) -> Self {
        let home = tempfile::tempdir().unwrap();
        let journal = Journal::create(&home.path().join("a.journal")).unwrap();
        Self { fake: Fake::new(layout), journal, disk: None, _home: home }
    }

    fn open(&mut self) -> io::Result<Actuators> {
        let files: Arc<dyn Files> = self.fake.clone();
        let group = Group::create(files.clone(), &self.fake.hierarchies(), false, &mut self.journal)?;
        let mut settings = Settings::new(vec![1, 0], FLOOR);
        settings.memory = Some(1 << 20);
        settings.disk = self.disk.clone();
        let resctrl = Resctrl::create(&self.fake.path(RESCTRL), &files, &group.name(), &mut self.journal);
        Actuators::around(group, &settings, None, resctrl)
    }
}

/// A control file of the group; `None` if it has none of these.
fn shown(actuators: &Actuators, names: &[&str]) -> Option<String> {
    let file = actuators.group().file(names)?;
    Some(std::fs::read_to_string(file).unwrap().trim().to_owned())
}

/// Cores times share that the control files allow.
fn allowed(actuators: &Actuators) -> f64 {
    let cores = shown(actuators, &["cpuset.cpus"]).unwrap().parse::<brunt_results::Cores>().unwrap().count() as f64;
    let number = |text: String| text.parse::<f64>().unwrap();
    let (quota, period) = match shown(actuators, &["cpu.max"]) {
        Some(max) => {
            let (quota, period) = max.split_once(' ').unwrap();
            (quota.to_owned(), period.to_owned())
        }
        None => (shown(actuators, &["cpu.cfs_quota_us"]).unwrap(), shown(actuators, &["cpu.cfs_period_us"]).unwrap()),
    };
    match quota.as_str() {
        "max" | "-1" => cores,
        _ => cores.min(number(quota) / number(period)),
    }
}

#[test]
fn a_group_begins_at_the_floor_and_leaves_nothing() {
    for layout in LAYOUTS {
        let mut scene = Scene::new(layout);
        let before = scene.fake.snapshot();
        let actuators = scene.open().unwrap();
        assert_eq!(shown(&actuators, &["cpu.idle"]).as_deref(), Some("1"), "{layout:?}");
        assert_eq!(shown(&actuators, &["pids.max"]).as_deref(), Some("1024"), "{layout:?}");
        let memory = shown(&actuators, &["memory.max", "memory.limit_in_bytes"]);
        assert_eq!(memory.as_deref(), Some("1048576"), "{layout:?}");
        assert!((allowed(&actuators) - FLOOR).abs() < 1e-3, "{layout:?}");
        assert!(!actuators.group().is_frozen());
        let missing: Vec<_> = actuators.capabilities().into_iter().filter(|one| !one.available).collect();
        assert!(missing.iter().all(|one| one.name == Resource::Cache && one.consequence.is_some()), "{missing:?}");
        let job = actuators.group().job("7", &JobLimits::default()).unwrap();
        assert!(job.dirs().iter().all(|dir| dir.is_dir()) && job.dirs().len() == actuators.group().dirs().len());
        crate::cgroup::enter(&*scene.fake, job.dirs(), "4000000").unwrap();
        assert_eq!(
            scene.fake.snapshot().keys().filter(|path| path.ends_with("job-7")).count(),
            match layout {
                Layout::One => 2,
                _ => 1,
            }
        );
        assert_eq!(actuators.group().members().into_iter().collect::<Vec<_>>(), [4_000_000]);
        assert!(actuators.group().job("../x", &JobLimits::default()).is_err());
        assert_eq!(scene.journal.undo(&*scene.fake), Vec::<String>::new());
        assert_eq!(scene.fake.snapshot(), before, "{layout:?}");
    }
}

#[test]
fn usage_is_read_in_every_layout() {
    for layout in LAYOUTS {
        let mut scene = Scene::new(layout);
        let usage = scene.open().unwrap().group().usage();
        assert_eq!(usage.cpu, Some(Duration::from_millis(5)), "{layout:?}");
        assert_eq!(usage.memory, Some(4096), "{layout:?}");
        assert_eq!(usage.pressure.map(|all| all.io), Some(Duration::from_micros(13)).filter(|_| layout != Layout::One));
        let throttled = (usage.periods, usage.throttled_periods, usage.throttled);
        let expected = (Some(4), Some(2), Some(Duration::from_micros(3)));
        assert_eq!(throttled, if layout == Layout::Two { (None, None, None) } else { expected });
    }
}

/// A controller that cannot be had is missing with its consequence, and nothing else is lost.
#[test]
fn what_is_missing_is_said() {
    for (word, resource) in [
        ("cpu,cpuacct/", Resource::Cpu),
        ("pids/", Resource::Processes),
        ("memory/", Resource::Memory),
        ("blkio/", Resource::Disk),
    ] {
        let mut scene = Scene::new(Layout::Hybrid);
        scene.fake.fail(word, Errno::ROFS);
        let actuators = scene.open().unwrap();
        let all = actuators.capabilities();
        let one = all.iter().find(|one| one.name == resource).unwrap();
        // The cores are still those of BE jobs.
        assert!(one.available == (resource == Resource::Cpu) && one.consequence.is_some(), "{one:?}");
        let mut others = all.iter().filter(|one| ![resource, Resource::Priority, Resource::Cache].contains(&one.name));
        assert!(others.all(|one| one.available), "{all:?}");
        scene.fake.mend();
        assert_eq!(scene.journal.undo(&*scene.fake), Vec::<String>::new());
    }
    // Without a freezer there is no group.
    for (layout, words) in
        [(Layout::One, &["freezer/"][..]), (Layout::Two, &["unified/"]), (Layout::Hybrid, &["freezer/", "unified/"])]
    {
        let mut scene = Scene::new(layout);
        let before = scene.fake.snapshot();
        words.iter().for_each(|word| scene.fake.fail(word, Errno::ROFS));
        let error = scene.open().unwrap_err().to_string();
        assert!(error.contains("can be frozen") && error.contains("Read-only"), "{error}");
        assert_eq!(scene.fake.snapshot(), before);
    }
}

#[test]
fn parents_of_version_two_are_not_changed() {
    let mut scene = Scene::new(Layout::Two);
    std::fs::write(scene.fake.path("unified/cgroup.subtree_control"), "\n").unwrap();
    scene.open().unwrap();
    let writes = scene.fake.writes.lock().unwrap();
    let ours = |path: &Path| path.iter().any(|part| part.to_str().is_some_and(brunt_meter::cgroup::is_name));
    assert!(writes.iter().all(|(path, _)| ours(path)), "{writes:?}");
}

/// A job may have made groups below ours; they never have a core that ours has not.
#[test]
fn cores_widen_from_the_top_and_narrow_from_the_bottom() {
    let mut scene = Scene::new(Layout::One);
    let mut actuators = scene.open().unwrap();
    let knob = actuators.group().file(&["cpuset.cpus"]).unwrap();
    let below = knob.parent().unwrap().join("below");
    scene.fake.create_dir(&below).unwrap();
    std::fs::write(below.join("cpuset.cpus"), "1\n").unwrap();
    for (cores, order) in [(2.0, ["brunt", "below"]), (0.5, ["below", "brunt"])] {
        scene.fake.writes.lock().unwrap().clear();
        assert_eq!(actuators.apply(Allotment::cores(cores)).faults, []);
        let writes = scene.fake.writes.lock().unwrap();
        let cpus = writes.iter().filter(|(file, _)| file.ends_with("cpuset.cpus"));
        let name = |file: &Path| if file.starts_with(&below) { "below" } else { "brunt" };
        let order_seen: Vec<_> = cpus.map(|(file, _)| name(file)).collect();
        assert_eq!(order_seen, order, "{writes:?}");
    }
}

#[test]
fn the_cache_follows_the_allotment() {
    let mut scene = Scene::new(Layout::Two);
    scene.fake.with_resctrl();
    let before = scene.fake.snapshot();
    let mut actuators = scene.open().unwrap();
    assert!(actuators.capabilities().iter().all(|one| one.available));
    let dir = actuators.other_dirs()[0].clone();
    let schemata = || std::fs::read_to_string(dir.join("schemata")).unwrap();
    assert_eq!(schemata(), "L3:0=3;1=3\n");
    let allotment = Allotment { cache: Some(0.5), ..Allotment::cores(0.5) };
    assert_eq!(actuators.apply(allotment).faults, []);
    assert_eq!(schemata(), "L3:0=ff;1=ff\n");
    crate::cgroup::enter(&*scene.fake, &actuators.dirs(), "4000000").unwrap();
    assert_eq!(std::fs::read_to_string(dir.join("tasks")).unwrap(), "4000000\n");
    assert_eq!(scene.journal.undo(&*scene.fake), Vec::<String>::new());
    assert_eq!(scene.fake.snapshot(), before);
}

#[test]
fn a_disk_is_limited_as_a_whole() {
    for layout in LAYOUTS {
        let mut scene = Scene::new(layout);
        scene.disk = Some(DiskLimit { place: "/".into(), rate: 4096 });
        let actuators = match scene.open() {
            Ok(actuators) => actuators,
            Err(why) => return println!("skipped: {why}"),
        };
        let all: Vec<_> = ["io.max", "blkio.throttle.read_bps_device", "blkio.throttle.write_bps_device"]
            .iter()
            .filter_map(|name| shown(&actuators, &[name]))
            .collect();
        let ends = if layout == Layout::Two { vec![" rbps=4096 wbps=4096"] } else { vec![" 4096"; 2] };
        assert_eq!(all.len(), ends.len(), "{all:?}");
        assert!(all.iter().zip(&ends).all(|(line, end)| line.ends_with(end) && line.contains(':')), "{all:?}");
        assert_eq!(scene.journal.undo(&*scene.fake), Vec::<String>::new());
    }
}

#[derive(Debug, Clone)]
enum Step {
    Apply(f64),
    Floor,
    Kill,
    /// The guardian.
    FreezeFromOutside,
    Fail(&'static str, Errno),
    Mend,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let words =
        ["cfs_quota", "cfs_period", "cpu.max", "cpu.idle", "cpuset.cpus", "cgroup.freeze", "freezer.state", "pids.max"];
    let errors = [Errno::INVAL, Errno::NOENT, Errno::ROFS];
    let fail = (prop::sample::select(words.to_vec()), prop::sample::select(errors.to_vec()));
    let step = prop_oneof![
        6 => (0.0f64..2.5).prop_map(Step::Apply),
        1 => Just(Step::Apply(0.0)),
        1 => Just(Step::Floor),
        1 => Just(Step::Kill),
        1 => Just(Step::FreezeFromOutside),
        3 => fail.prop_map(|(word, errno)| Step::Fail(word, errno)),
        2 => Just(Step::Mend),
    ];
    prop::collection::vec(step, 1..25)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// Whatever fails: without a fault the group has what it was given, and with one it can use no more CPU time than that
    /// or the floor, or is frozen, or empty. Afterwards everything works again, and nothing is left.
    #[test]
    fn errors_leave_a_group_at_most_what_it_was_given(steps in steps(), layout in prop::sample::select(LAYOUTS.to_vec())) {
        let mut scene = Scene::new(layout);
        let before = scene.fake.snapshot();
        let mut actuators = scene.open().unwrap();
        for step in steps {
            crate::cgroup::enter(&*scene.fake, actuators.group().dirs(), "4000000").unwrap();
            let (given, applied) = match step {
                Step::Apply(cores) => (cores, actuators.apply(Allotment::cores(cores))),
                Step::Floor => (FLOOR, actuators.floor()),
                Step::Kill => {
                    actuators.kill();
                    prop_assert!(actuators.group().members().is_empty());
                    continue;
                }
                Step::FreezeFromOutside => { let _ = actuators.group().freeze(); continue }
                Step::Fail(word, errno) => { scene.fake.fail(word, errno); continue }
                Step::Mend => { scene.fake.mend(); continue }
            };
            let group = actuators.group();
            let frozen = group.is_frozen();
            if applied.faults.is_empty() {
                prop_assert_eq!(frozen, given == 0.0);
                let wanted = given.min(2.0);
                prop_assert!(frozen || (allowed(&actuators) - wanted).abs() < 2e-3, "{} {}", allowed(&actuators), wanted);
                // Once more changes nothing.
                let again = if let Step::Floor = step { actuators.floor() } else { actuators.apply(Allotment::cores(given)) };
                prop_assert_eq!((again.changed, again.faults), (vec![], vec![]));
            } else {
                let safe = frozen || group.members().is_empty() || allowed(&actuators) <= given.max(FLOOR) + 2e-3;
                prop_assert!(safe, "{:?} {}", applied, allowed(&actuators));
            }
        }
        scene.fake.mend();
        prop_assert_eq!(actuators.apply(Allotment::cores(0.7)).faults, vec![]);
        prop_assert!((allowed(&actuators) - 0.7).abs() < 2e-3 && !actuators.group().is_frozen());
        prop_assert_eq!(scene.journal.undo(&*scene.fake), Vec::<String>::new());
        prop_assert_eq!(scene.fake.snapshot(), before);
    }
}

/// A process that waits for a device stops when it gets that. It is given time, and then it is a fault.
#[test]
fn a_freeze_that_does_not_take_effect_is_a_fault_after_a_second() {
    for layout in LAYOUTS {
        let (time, mut scene) = (Given::begin(), Scene::new(layout));
        let mut actuators = scene.open().unwrap();
        scene.fake.is_stuck.store(true, Relaxed);
        for at in [0, 20, 999] {
            time.set(Duration::from_millis(at));
            let applied = actuators.apply(Allotment::FROZEN);
            assert_eq!((applied.faults, applied.is_freezing), (vec![], true), "{layout:?} {at}");
        }
        time.set(Duration::from_secs(1));
        let Applied { faults, is_freezing, .. } = actuators.apply(Allotment::FROZEN);
        assert_eq!((faults.len(), faults[0].instead, is_freezing), (1, Instead::Nothing, false), "{layout:?}");
        assert_eq!(faults[0].error, "not frozen after 1000 ms: a process waits for a device", "{layout:?}");
        scene.fake.is_stuck.store(false, Relaxed);
        let applied = actuators.apply(Allotment::FROZEN);
        assert!(applied.faults.is_empty() && !applied.is_freezing && actuators.group().is_frozen(), "{layout:?}");
    }
}

/// What the journal of a process that died holds is enough to undo all of it, as often as one likes.
#[test]
fn a_killed_controller_leaves_nothing_after_recovery() {
    for layout in LAYOUTS {
        let mut scene = Scene::new(layout);
        let before = scene.fake.snapshot();
        let mut actuators = scene.open().unwrap();
        actuators.apply(Allotment::FROZEN);
        let job = actuators.group().job("a", &JobLimits::default()).unwrap();
        crate::cgroup::enter(&*scene.fake, job.dirs(), "4000000").unwrap();
        let path = scene.journal.path().to_owned();
        assert!(matches!(recover(&*scene.fake, &path), Ok(Recovered::InUse { pid }) if pid == std::process::id()));
        drop(scene.journal);
        scene.fake.fail("unified", Errno::ROFS);
        scene.fake.fail("freezer", Errno::ROFS);
        let Recovered::Undone { problems, .. } = recover(&*scene.fake, &path).unwrap() else { panic!("{layout:?}") };
        assert!(problems.iter().any(|why| why.contains("Read-only")) && path.exists(), "{problems:?}");
        scene.fake.mend();
        let Recovered::Undone { problems, .. } = recover(&*scene.fake, &path).unwrap() else { panic!("{layout:?}") };
        assert_eq!(problems, Vec::<String>::new());
        assert_eq!((scene.fake.snapshot(), path.exists()), (before, false), "{layout:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// A job has what it may have by itself, or what all may have if that is less, after any series of allotments.
    #[test]
    fn a_job_has_limits_of_its_own(
        cores in 0.01f64..2.0,
        series in proptest::collection::vec((0.0f64..2.5, any::<bool>()), 1..12),
        layout in proptest::sample::select(&LAYOUTS[..]),
    ) {
        let mut scene = Scene::new(layout);
        let before = scene.fake.snapshot();
        let mut actuators = scene.open().unwrap();
        let limits = JobLimits { memory: Some(64 << 20), processes: Some(7), cores: Some(cores) };
        let group = actuators.group().clone();
        for (number, (amount, again)) in series.into_iter().enumerate() {
            let made = again.then(|| group.job(&number.to_string(), &limits).unwrap());
            if let Some(job) = &made {
                Actuators::limit_job(job, &group).unwrap();
                let shown = |names| std::fs::read_to_string(job.own().file(names).unwrap()).unwrap().trim().to_owned();
                prop_assert_eq!(shown(&["pids.max"]), "7");
                prop_assert_eq!(shown(&["memory.max", "memory.limit_in_bytes"]), (64 << 20).to_string());
            }
            let applied = actuators.apply(Allotment::cores(amount.max(0.01)));
            prop_assert!(applied.faults.is_empty(), "{:?}: {:?}", layout, applied.faults);
            let all = allowed(&actuators);
            for (dir, most) in group.caps().all(&*scene.fake) {
                let [quota, period] = ["cpu.cfs_quota_us", "cpu.cfs_period_us"].map(|name| {
                    std::fs::read_to_string(dir.join(name)).unwrap().trim().parse::<f64>().unwrap()
                });
                let share = quota / period;
                let wanted = most.min(all);
                prop_assert!(share <= wanted + 1e-4 && share >= wanted - 2e-3, "{} for {} of {}", share, most, all);
            }
        }
        prop_assert_eq!(scene.journal.undo(&*scene.fake), Vec::<String>::new());
        prop_assert_eq!(scene.fake.snapshot(), before);
    }
}

/// A job whose limits cannot be set does not run without them.
#[test]
fn limits_of_a_job_that_cannot_be_set_are_named() {
    let mut scene = Scene::new(Layout::Hybrid);
    scene.fake.fail("memory/", Errno::ACCESS);
    let actuators = scene.open().unwrap();
    let limits = JobLimits { memory: Some(1 << 20), ..JobLimits::default() };
    let job = actuators.group().job("1", &limits).unwrap();
    let error = Actuators::limit_job(&job, actuators.group()).unwrap_err().to_string();
    assert!(error.starts_with("memory: ") && error.contains("Permission denied"), "{error}");
    assert_eq!(scene.journal.undo(&*scene.fake), Vec::<String>::new());
}
