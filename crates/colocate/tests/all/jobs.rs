//! Real jobs under a runner, and under runners that are killed.

use brunt_colocate::jobs::{Event, Launcher, Options, Output, Runner, plain};
use brunt_colocate::queue::{Job, Listed, Outcome, Owner, Queue, Source, Spec, State};
use brunt_meter::proc_stat::{boot_id, start_time};
use brunt_testkit::{Home, Random, Role, Running, home, role, until, until_some};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use std::{fs, thread};

/// Time between SIGTERM and SIGKILL.
const GRACE: Duration = Duration::from_millis(200);

struct Scene {
    home: Home,
}

impl Scene {
    fn new() -> Self {
        Self { home: home() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.home.join(name)
    }

    fn queue(&self) -> Queue {
        Queue::open(&self.path("queue.sqlite")).unwrap()
    }

    fn script(&self, script: &str, arg: usize) -> Spec {
        let argv = ["sh", "-c", script, "job", &arg.to_string()].map(str::to_owned).into();
        Spec {
            argv,
            env: [].into(),
            dir: self.home.to_path_buf(),
            priority: 0,
            retries: 0,
            progress_pattern: None,
            options: Default::default(),
        }
    }

    fn runner(&self) -> Runner<fn(&Job) -> Command> {
        runner(&self.home, GRACE)
    }

    /// A runner as a process of its own, which ends when no job is left.
    fn process(&self, slots: usize) -> Running {
        const RUNNER: Role = Role("jobs::runner_process");
        let words = format!("{slots} {}", self.home.display());
        Running::start(RUNNER.command(&words).stdout(Stdio::null()))
    }

    fn text(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.path(name)).ok()
    }

    /// No process has the home as its working directory, once killed ones have had time to exit.
    #[track_caller]
    fn assert_no_process(&self) {
        let is_here = |process: PathBuf| fs::read_link(process.join("cwd")).is_ok_and(|cwd| cwd == *self.home);
        until("no process of a job is left", || {
            !fs::read_dir("/proc").unwrap().flatten().any(|entry| is_here(entry.path()))
        });
    }
}

/// A runner of the queue in this home.
fn runner(home: &Path, grace: Duration) -> Runner<fn(&Job) -> Command> {
    let options = Options { output: Output { dir: home.join("output"), bytes: 1 << 20 }, grace };
    Runner::new(Queue::open_for_runner(&home.join("queue.sqlite")).unwrap(), plain as fn(&Job) -> Command, options)
}

/// Not a test: the process of [`Scene::process`].
#[test]
fn runner_process() {
    let Some(words) = role() else { return };
    let (slots, home) = words.split_once(' ').unwrap();
    let (slots, home) = (slots.parse().unwrap(), Path::new(home));
    let mut runner = runner(home, GRACE);
    let jobs = Queue::open(&home.join("queue.sqlite")).unwrap();
    for tick in 1.. {
        runner.poll(Instant::now(), slots).unwrap();
        let is_look = tick % 20 == 0 && runner.is_idle();
        if is_look && jobs.list().unwrap().iter().all(|listed| listed.job.state.is_final()) {
            return;
        }
        thread::sleep(Duration::from_millis(5));
    }
}

/// Polls until `done` returns a value for the events so far.
#[track_caller]
fn poll<L: Launcher, T>(
    runner: &mut Runner<L>,
    slots: usize,
    mut done: impl FnMut(&Runner<L>, &[Event]) -> Option<T>,
) -> T {
    let mut events = Vec::new();
    until_some("what is polled for", || {
        let new = runner.poll(Instant::now(), slots).unwrap();
        new.iter().for_each(|event| println!("{event:?}"));
        events.extend(new);
        done(runner, &events)
    })
}

/// The ends of so many attempts.
#[track_caller]
fn ends<L: Launcher>(runner: &mut Runner<L>, slots: usize, count: usize) -> Vec<(i64, Outcome, State)> {
    let end = |event: &Event| match event {
        Event::Ended { id, outcome, state } => Some((id.job, outcome.clone(), *state)),
        _ => None,
    };
    poll(runner, slots, |_, events| {
        let ends: Vec<_> = events.iter().filter_map(end).collect();
        (ends.len() == count).then_some(ends)
    })
}

fn is_up(scene: &Scene, file: &str) -> Option<()> {
    scene.path(file).exists().then_some(())
}

/// Jobs that take a lock for as long as any of their processes lives, and leave a trace when they are through.
const WITNESSED: &str = "exec 9>lock.$1; flock -n 9 || echo $1 >>twice
    case $(($1 % 10)) in
    0) exit 3;;
    1) [ -e tried.$1 ] || { : >tried.$1; kill -9 $$; };;
    2) setsid sleep 300 & ;;
    3) (setsid sh -c 'trap \"\" TERM; sleep 300; sleep 300' &) ;;
    esac
    sleep 0.0$(($1 % 7 + 1)); echo $1 >>through.$1";

/// Jobs of [`WITNESSED`] are what they say they are.
fn check_witnessed(scene: &Scene, jobs: &[Listed]) {
    assert_eq!(scene.text("twice"), None, "two attempts of a job ran at once");
    for Listed { job, attempts } in jobs {
        let arg: usize = job.spec.argv[4].parse().unwrap();
        let last = attempts.last().unwrap().outcome.clone().unwrap();
        let through = scene.text(&format!("through.{arg}"));
        match arg % 10 {
            0 => {
                assert_eq!((job.state, last, through), (State::Failed, Outcome::Exited(3), None));
                assert_eq!(job.failures, 2);
            }
            _ => {
                assert_eq!((job.state, last), (State::Done, Outcome::Exited(0)));
                assert!(through.is_some(), "job {arg} is done and never was through");
            }
        }
    }
}

#[test]
fn two_hundred_jobs_outlive_runners_that_are_killed_at_random_moments() {
    let scene = Scene::new();
    for arg in 0..200 {
        scene.queue().add(&Spec { retries: 1, ..scene.script(WITNESSED, arg) }, 1).unwrap();
    }
    let mut random = Random::from_environment();
    // Fewer kills than losses in a row that a job survives.
    for _ in 0..9 {
        let mut runner = scene.process(4);
        thread::sleep(Duration::from_millis(random.below(900)));
        // The runner alone: what it has just started is left to the next one.
        runner.child().kill().unwrap();
        runner.child().wait().unwrap();
    }
    assert!(scene.process(4).end().success());
    let jobs = scene.queue().list().unwrap();
    check_witnessed(&scene, &jobs);
    assert_eq!(jobs.len(), 200);
    scene.assert_no_process();
    let outcomes = jobs.iter().flat_map(|listed| &listed.attempts).map(|attempt| attempt.outcome.as_ref());
    println!("{} attempts were lost", outcomes.filter(|outcome| *outcome == Some(&Outcome::Lost)).count());
}

#[test]
fn a_process_that_leaves_its_group_while_its_job_ends_is_killed() {
    let scene = Scene::new();
    scene.queue().add(&scene.script("(setsid sh -c 'sleep 300; :' &)", 0), 200).unwrap();
    let mut runner = scene.runner();
    ends(&mut runner, 4, 200);
    scene.assert_no_process();
}

#[test]
fn two_runners_share_a_queue() {
    let scene = Scene::new();
    let add = |arg| scene.queue().add(&Spec { retries: 1, ..scene.script(WITNESSED, arg) }, 1).unwrap();
    (0..30).for_each(|arg| _ = add(arg));
    let mut runners = [scene.process(2), scene.process(2)];
    (30..60).for_each(|arg| _ = add(arg));
    // Each ends when it finds no job left, which may be before the last one is added.
    assert!(runners.iter_mut().all(|runner| runner.end().success()));
    assert!(scene.process(2).end().success());
    let jobs = scene.queue().list().unwrap();
    check_witnessed(&scene, &jobs);
    for Listed { job, attempts } in &jobs {
        let ended_well = usize::from(job.state == State::Done);
        assert_eq!(attempts.len(), ended_well + job.failures as usize);
    }
    assert_eq!(jobs.len(), 60);
    scene.assert_no_process();
}

#[test]
fn progress_is_what_the_job_prints_or_else_its_cpu_time() {
    let scene = Scene::new();
    let counts =
        "i=0; while [ ! -e stop ]; do i=$((i + 1)); echo step $i of many >&$1; sleep 0.02; done; echo step 5e3 >&$1";
    let pattern = Some(r"^step (\S+)".parse().unwrap());
    scene.queue().add(&Spec { progress_pattern: pattern.clone(), ..scene.script(counts, 1) }, 1).unwrap();
    scene.queue().add(&Spec { progress_pattern: pattern, ..scene.script(counts, 2) }, 1).unwrap();
    let burns = "while [ ! -e stop ]; do :; done";
    scene.queue().add(&scene.script(burns, 0), 1).unwrap();
    let mut runner = scene.runner();
    poll(&mut runner, 3, |runner, _| {
        let rates: Vec<f64> = runner.live().filter_map(|live| live.usage.progress?.rate).collect();
        (rates.len() == 3 && rates.iter().all(|rate| *rate > 0.0)).then_some(())
    });
    let sources: Vec<_> = runner.live().map(|live| live.usage.progress.unwrap().source).collect();
    assert_eq!(sources, [Source::Output, Source::Output, Source::CpuTime]);
    fs::write(scene.path("stop"), "").unwrap();
    ends(&mut runner, 0, 3);
    let jobs = scene.queue().list().unwrap();
    let usage = |job: usize| jobs[job].attempts[0].usage;
    assert_eq!([0, 1].map(|job| usage(job).progress.unwrap().value), [5000.0, 5000.0]);
    let (cpu, progress) = (usage(2).cpu_seconds.unwrap(), usage(2).progress.unwrap());
    assert!(cpu > 0.0 && progress.value == cpu && progress.source == Source::CpuTime, "{:?}", usage(2));
    let output = scene.text("output/1-1.out").unwrap();
    assert!(output.starts_with("step 1 of many\nstep 2 of many\n") && output.ends_with("step 5e3\n"), "{output}");
    assert!(scene.text("output/2-1.err").unwrap().starts_with("step 1 of many\n"));
    assert_eq!(scene.text("output/3-1.out"), None);
}

#[test]
fn a_preempted_job_goes_before_newer_ones_and_its_end_is_no_failure() {
    let scene = Scene::new();
    // The second time it gets through; SIGTERM is answered with exit 0.
    let first = "[ -e again ] && exit; trap 'touch again; exit 0' TERM; touch up; while :; do sleep 0.01; done";
    let stubborn = "trap '' TERM; (setsid sh -c 'trap \"\" TERM; touch up2; sleep 300; :' &); sleep 300; :";
    scene.queue().add(&scene.script(first, 0), 1).unwrap();
    scene.queue().add(&scene.script(stubborn, 0), 1).unwrap();
    scene.queue().add(&Spec { priority: 1, ..scene.script("exit 4", 0) }, 1).unwrap();
    let grace = Duration::from_secs(100);
    let mut runner = runner(&scene.home, grace);
    assert_eq!(ends(&mut runner, 1, 1), [(3, Outcome::Exited(4), State::Failed)]);
    poll(&mut runner, 1, |_, _| is_up(&scene, "up"));
    assert!(!runner.preempt(2, Instant::now()) && runner.preempt(1, Instant::now()));
    assert_eq!(ends(&mut runner, 0, 1), [(1, Outcome::Preempted, State::Preempted)]);
    assert_eq!(ends(&mut runner, 1, 1), [(1, Outcome::Exited(0), State::Done)]);
    poll(&mut runner, 1, |_, _| is_up(&scene, "up2"));
    runner.preempt_all(Instant::now() - grace);
    assert!(runner.live().all(|live| live.is_ending));
    assert_eq!(ends(&mut runner, 0, 1), [(2, Outcome::Preempted, State::Preempted)]);
    assert!(runner.is_idle());
    scene.assert_no_process();
}

#[test]
fn a_dropped_runner_leaves_no_process_and_no_job_behind() {
    let scene = Scene::new();
    scene.queue().add(&scene.script("trap '' TERM; touch up; setsid sleep 300; :", 0), 1).unwrap();
    let mut runner = scene.runner();
    poll(&mut runner, 1, |_, _| is_up(&scene, "up"));
    drop(runner);
    scene.assert_no_process();
    assert_eq!(scene.queue().list().unwrap()[0].job.state, State::Preempted);
}

#[test]
fn a_job_that_is_cancelled_while_it_runs_is_killed() {
    let scene = Scene::new();
    scene.queue().add(&Spec { retries: 9, ..scene.script("touch up; sleep 300", 0) }, 2).unwrap();
    let mut runner = scene.runner();
    poll(&mut runner, 1, |_, _| is_up(&scene, "up"));
    assert_eq!(scene.queue().cancel(&[1, 2]).unwrap(), [(1, State::Running), (2, State::Cancelled)]);
    assert_eq!(ends(&mut runner, 1, 1), [(1, Outcome::Cancelled, State::Cancelled)]);
    scene.assert_no_process();
}

#[test]
fn what_cannot_be_started_fails_with_its_reason() {
    let scene = Scene::new();
    let program = |argv: &str| Spec { argv: vec![argv.to_owned()], ..scene.script("", 0) };
    scene.queue().add(&Spec { retries: 1, ..program("no-such-program") }, 1).unwrap();
    scene.queue().add(&Spec { dir: scene.path("no-such-dir"), ..program("true") }, 1).unwrap();
    let mut runner = scene.runner();
    let reasons: Vec<String> =
        ends(&mut runner, 4, 3).into_iter().map(|(_, outcome, _)| format!("{outcome:?}")).collect();
    assert!(reasons[0].contains("cannot start no-such-program: ") && reasons[0] == reasons[1], "{reasons:?}");
    assert!(reasons[2].contains("no-such-dir does not exist"), "{reasons:?}");
    assert!(scene.queue().list().unwrap().iter().all(|listed| listed.job.state == State::Failed));
}

#[test]
fn frozen_time_is_counted_and_nothing_starts_meanwhile() {
    let scene = Scene::new();
    scene.queue().add(&scene.script("touch up.$1; sleep 300", 0), 2).unwrap();
    let mut runner = scene.runner();
    // The process may touch its file before the runner learns that it is started, from when on it can be frozen.
    poll(&mut runner, 1, |runner, _| is_up(&scene, "up.0").filter(|()| runner.live().count() == 1));
    let began = Instant::now();
    runner.set_frozen(true, began);
    let state = || scene.queue().list().unwrap()[0].job.state;
    poll(&mut runner, 2, |_, _| (state() == State::Frozen).then_some(()));
    let ended = Instant::now();
    runner.set_frozen(false, ended);
    poll(&mut runner, 1, |_, _| (state() == State::Running).then_some(()));
    assert_eq!(runner.live().count(), 1);
    let frozen = scene.queue().list().unwrap()[0].attempts[0].usage.frozen_seconds.unwrap();
    assert!((frozen - (ended - began).as_secs_f64()).abs() < 1e-6, "{frozen}");
}

/// Jobs that ran when the machine went down run again. Processes that have their ids since are others.
#[test]
fn jobs_of_an_earlier_boot_run_again() {
    let scene = Scene::new();
    let mut queue = scene.queue();
    queue.add(&scene.script(": >ran", 0), 1).unwrap();
    let bystander = Running::start(Command::new("sleep").arg("1000"));
    let (_, id) = queue.take(&Owner::new()).unwrap().unwrap();
    queue.started(id, (bystander.pid(), start_time(bystander.pid()).unwrap()), None).unwrap();
    let file = rusqlite::Connection::open(scene.path("queue.sqlite")).unwrap();
    let changed = file.execute("UPDATE attempt SET owner = replace(owner, ?1, 'earlier')", [boot_id()]).unwrap();
    assert_eq!(changed, 1);
    assert_eq!(
        ends(&mut scene.runner(), 1, 2),
        [(1, Outcome::Lost, State::Lost), (1, Outcome::Exited(0), State::Done)]
    );
    assert!(scene.path("ran").exists() && start_time(bystander.pid()).is_some());
}

/// A launcher with a wrapper and a group of its own.
struct Grouped(PathBuf);

impl Launcher for Grouped {
    fn command(&self, job: &Job) -> Result<Command, String> {
        let mut command = Command::new("env");
        command.arg("WRAPPED=yes").args(&job.spec.argv);
        Ok(command)
    }

    fn cgroup(&self, _: &Job) -> Option<PathBuf> {
        Some(self.0.clone())
    }

    fn kill(&self, _: &Job) -> bool {
        fs::remove_file(&self.0).is_ok()
    }

    fn cpu_seconds(&self, _: &Job) -> Option<f64> {
        Some(12.5)
    }
}

#[test]
fn a_launcher_puts_jobs_in_groups_and_empties_them() {
    let scene = Scene::new();
    scene.queue().add(&scene.script("echo $WRAPPED $BRUNT_JOB $MORE", 0), 1).unwrap();
    let group = scene.path("group");
    fs::write(&group, "").unwrap();
    let output = Output { dir: scene.path("output"), bytes: 0 };
    let queue = Queue::open_for_runner(&scene.path("queue.sqlite")).unwrap();
    let mut runner = Runner::new(queue, Grouped(group.clone()), Options { output, grace: Duration::ZERO });
    ends(&mut runner, 1, 1);
    assert!(!group.exists());
    let attempt = &scene.queue().list().unwrap()[0].attempts[0];
    assert_eq!((attempt.cgroup.as_deref(), attempt.usage.cpu_seconds), (group.to_str(), Some(12.5)));
    let queue = scene.path("queue.sqlite");
    assert_eq!(scene.text("output/1-1.out").unwrap(), format!("yes {}#1-1\n", queue.display()));
}
