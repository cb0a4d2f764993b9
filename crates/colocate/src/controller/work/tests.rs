//! Jobs of a run in given time: their processes are real, and no time that they take decides.

use super::*;
use crate::clock::given::Given;
use crate::jobs::plain;
use crate::queue::Job;
use brunt_testkit::{Home, home, until};
use std::process::Command;

type Plain = Work<fn(&Job) -> Command>;

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

struct Scene {
    home: Home,
    time: Given,
    work: Plain,
}

impl Scene {
    /// The jobs of a plan whose directory is the home.
    fn new(jobs: &str) -> Self {
        let home = home();
        let dir = format!("[[job]]\ndir = \"{}\"\n", home.display());
        let text = format!(
            "[service]\npid = 1\nslo = \"p99<6ms\"\n[source]\nfile = \"counts\"\n{}",
            jobs.replace("[[job]]\n", &dir)
        );
        let plan = Plan::parse("plan.toml", &text).unwrap();
        let time = Given::begin();
        let work = Work::open(plain as fn(&Job) -> Command, &plan, &home, 2).unwrap();
        Self { home, time, work }
    }

    fn poll(&mut self, frozen: bool) {
        self.work.poll(self.time.at(self.time.time()), frozen, &mut Vec::new());
    }

    /// Polls at the same time until it is so.
    #[track_caller]
    fn until(&mut self, what: &str, is_so: impl Fn(&mut Self) -> bool) {
        until(what, || {
            self.poll(false);
            is_so(self)
        });
    }

    fn is_there(&self, file: &str) -> bool {
        self.home.join(file).exists()
    }
}

#[test]
fn figures_count_what_jobs_have_done_since_they_begin() {
    let script = "echo n=1000; until [ -e go ]; do sleep 0.01; done; echo n=1007";
    let job = format!("[[job]]\ncommand = [\"sh\", \"-c\", \"{script}\"]\nprogress = 'n=(\\d+)'\n");
    let mut scene = Scene::new(&job);
    let printed = |scene: &mut Scene| {
        let usage = scene.work.runner.sample(scene.time.at(scene.time.time()));
        usage.first().and_then(|(_, usage)| usage.progress).map(|progress| progress.value) == Some(1000.0)
    };
    scene.until("the first figure is read", printed);
    scene.work.restart(scene.time.at(Duration::ZERO)).unwrap();
    fs::write(scene.home.join("go"), "").unwrap();
    scene.until("the job is done", |scene| scene.work.tally.done == 1);
    assert_eq!(scene.work.jobs().unwrap().progress, Some(7.0));
}

#[test]
fn jobs_that_outlive_their_end_are_killed_after_the_grace() {
    let mut scene =
        Scene::new("[[job]]\ncommand = [\"sh\", \"-c\", \"trap '' TERM; touch up; while sleep 0.01; do :; done\"]\n");
    scene.until("the job runs", |scene| scene.is_there("up") && scene.work.live().count() == 1);
    scene.work.preempt_all(scene.time.at(Duration::ZERO));
    let follow = |scene: &mut Scene| {
        let now = scene.time.at(scene.time.time());
        scene.work.follow(now, &mut Vec::new()).unwrap();
        scene.work.is_idle()
    };
    scene.time.set(GRACE - Duration::from_nanos(1));
    for _ in 0..20 {
        assert!(!follow(&mut scene));
        std::thread::yield_now();
    }
    assert!(scene.work.live().all(|live| live.is_ending && brunt_meter::proc_stat::start_time(live.pid).is_some()));
    scene.time.set(GRACE);
    until("the job is gone", || follow(&mut scene));
    assert_eq!((scene.work.tally.preempted, scene.work.tally.failed), (1, 0));
}

#[test]
fn no_job_is_started_while_they_are_frozen() {
    let mut scene = Scene::new("[[job]]\ncommand = [\"true\"]\n[[job]]\ncommand = [\"false\"]\n");
    for at in 0..100 {
        scene.time.set(ms(100 * at));
        scene.poll(true);
    }
    assert_eq!((scene.work.tally.attempts, scene.work.is_over()), (0, false));
    scene.until("both have ended", |scene| scene.work.tally.done + scene.work.tally.failed == 2);
    assert_eq!(scene.work.tally.attempts, 2);
    // That all have ended is looked for twice a second.
    let look = scene.work.next_look;
    scene.time.set(ms(9_900).max(look - scene.time.at(Duration::ZERO)));
    scene.poll(false);
    assert!(scene.work.is_over());
}

#[test]
fn a_job_that_repeats_is_started_again_when_it_has_ended_well() {
    let mut scene = Scene::new("[[job]]\nrepeat = true\ncommand = [\"sh\", \"-c\", \"[ ! -e stop ]\"]\n");
    for attempts in [3, 6] {
        until("it has ended a few times", || {
            scene.time.set(scene.time.time() + ms(200));
            scene.poll(false);
            scene.work.tally.done >= attempts
        });
    }
    fs::write(scene.home.join("stop"), "").unwrap();
    until("it has failed", || {
        scene.time.set(scene.time.time() + ms(200));
        scene.poll(false);
        scene.work.tally.failed == 1
    });
    assert_eq!(scene.work.tally.attempts, scene.work.tally.done + 1);
}
