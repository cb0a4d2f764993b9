//! The queue against a model that derives every state from the history of its job.

use super::*;
use proptest::prelude::*;
use std::collections::BTreeMap;

impl Queue {
    fn in_memory() -> Self {
        let mut connection = Connection::open_in_memory().unwrap();
        assert_eq!(schema::create(&mut connection).unwrap(), schema::Contents::Queue);
        Self { path: PathBuf::from("memory"), connection }
    }
}

fn spec(priority: i32, retries: u32) -> Spec {
    let argv = vec!["true".to_owned(), "two words".to_owned()];
    Spec {
        argv,
        env: BTreeMap::new(),
        dir: "/".into(),
        priority,
        retries,
        progress_pattern: None,
        options: JobOptions::default(),
    }
}

#[derive(Debug, Clone)]
enum Step {
    Add {
        priority: i32,
        retries: u32,
    },
    Take {
        runner: usize,
    },
    /// Of one of the active attempts.
    End {
        which: usize,
        outcome: Outcome,
    },
    /// All attempts of a runner are lost.
    Crash {
        runner: usize,
    },
    Cancel {
        which: usize,
    },
    Use {
        frozen: bool,
    },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let outcome = prop_oneof![
        3 => Just(Outcome::Exited(0)),
        3 => Just(Outcome::Exited(7)),
        1 => Just(Outcome::Signalled(11)),
        1 => Just(Outcome::Error("cannot start".to_owned())),
        2 => Just(Outcome::Preempted),
        1 => Just(Outcome::Cancelled),
    ];
    let step = prop_oneof![
        4 => (0..3, 0..3_u32).prop_map(|(priority, retries)| Step::Add { priority, retries }),
        8 => (0..2_usize).prop_map(|runner| Step::Take { runner }),
        6 => (any::<usize>(), outcome).prop_map(|(which, outcome)| Step::End { which, outcome }),
        3 => (0..2_usize).prop_map(|runner| Step::Crash { runner }),
        1 => any::<usize>().prop_map(|which| Step::Cancel { which }),
        2 => any::<bool>().prop_map(|frozen| Step::Use { frozen }),
    ];
    prop::collection::vec(step, 0..120)
}

#[derive(Debug)]
struct Model {
    priority: i32,
    retries: u32,
    cancelled: bool,
    /// Runner of the active attempt, and whether it is frozen.
    active: Option<(usize, bool)>,
    history: Vec<Outcome>,
}

impl Model {
    fn state(&self) -> State {
        if let Some((_, frozen)) = self.active {
            return if frozen { State::Frozen } else { State::Running };
        }
        let is_failure =
            |outcome: &&Outcome| matches!(outcome, Outcome::Exited(1..) | Outcome::Signalled(_) | Outcome::Error(_));
        let failures = self.history.iter().filter(is_failure).count() as u32;
        let losses = self.history.iter().rev().take_while(|outcome| **outcome == Outcome::Lost).count();
        match self.history.last() {
            Some(Outcome::Exited(0)) => State::Done,
            Some(Outcome::Cancelled) => State::Cancelled,
            _ if self.cancelled => State::Cancelled,
            None => State::Ready,
            Some(Outcome::Preempted) => State::Preempted,
            Some(Outcome::Lost) if losses == 10 => State::Failed,
            Some(Outcome::Lost) => State::Lost,
            Some(_) if failures == self.retries + 1 => State::Failed,
            Some(_) => State::Ready,
        }
    }

    fn waits(&self) -> bool {
        matches!(self.state(), State::Ready | State::Preempted | State::Lost)
    }
}

struct World {
    queue: Queue,
    owners: [Owner; 2],
    /// Job `n` has the id `n + 1`.
    jobs: Vec<Model>,
}

impl World {
    fn id(&self, job: usize) -> AttemptId {
        AttemptId { job: job as i64 + 1, attempt: self.jobs[job].history.len() as u32 + 1 }
    }

    fn active(&self) -> Vec<usize> {
        (0..self.jobs.len()).filter(|job| self.jobs[*job].active.is_some()).collect()
    }

    fn take(&mut self, runner: usize) -> bool {
        let waiting = (0..self.jobs.len()).filter(|job| self.jobs[*job].waits());
        let next = waiting.min_by_key(|job| (-self.jobs[*job].priority, *job));
        let taken = self.queue.take(&self.owners[runner]).unwrap();
        assert_eq!(taken.as_ref().map(|(_, id)| *id), next.map(|job| self.id(job)));
        if let Some((job, next)) = taken.zip(next) {
            assert_eq!(job.0.spec, spec(self.jobs[next].priority, self.jobs[next].retries));
            self.jobs[next].active = Some((runner, false));
        }
        next.is_some()
    }

    fn end(&mut self, job: usize, outcome: Outcome) {
        let id = self.id(job);
        let state = self.queue.end(id, &outcome, None).unwrap();
        self.jobs[job].active = None;
        self.jobs[job].history.push(outcome.clone());
        assert_eq!(state, Some(self.jobs[job].state()));
        // As by a second runner that found the first one gone.
        assert_eq!(self.queue.end(id, &outcome, None).unwrap(), None);
    }

    fn cancel(&mut self, job: usize) {
        let before = self.jobs[job].state();
        let cancelled = self.queue.cancel(&[job as i64 + 1]);
        if before.is_final() {
            let error = cancelled.unwrap_err().to_string();
            assert!(error.contains(before.word()), "{error}");
        } else {
            self.jobs[job].cancelled = true;
            assert_eq!(cancelled.unwrap(), [(job as i64 + 1, self.jobs[job].state())]);
        }
    }

    fn step(&mut self, step: Step) {
        let active = self.active();
        match step {
            Step::Add { priority, retries } => {
                let ids = self.queue.add(&spec(priority, retries), 1).unwrap();
                assert_eq!(ids, [self.jobs.len() as i64 + 1]);
                self.jobs.push(Model { priority, retries, cancelled: false, active: None, history: Vec::new() });
            }
            Step::Take { runner } => _ = self.take(runner),
            Step::End { which, outcome } if !active.is_empty() => self.end(active[which % active.len()], outcome),
            Step::Crash { runner } => {
                for job in active {
                    if self.jobs[job].active.is_some_and(|(of, _)| of == runner) {
                        self.end(job, Outcome::Lost);
                    }
                }
            }
            Step::Cancel { which } if !self.jobs.is_empty() => self.cancel(which % self.jobs.len()),
            Step::Use { frozen } => {
                let usage = Usage { cpu_seconds: Some(1.5), ..Usage::default() };
                let all: Vec<_> = active.iter().map(|job| (self.id(*job), usage)).collect();
                self.queue.used(&all, frozen).unwrap();
                for job in active {
                    self.jobs[job].active = self.jobs[job].active.map(|(runner, _)| (runner, frozen));
                }
            }
            Step::End { .. } | Step::Cancel { .. } => {}
        }
    }

    fn check(&self) {
        let list = self.queue.list().unwrap();
        let states: Vec<State> = list.iter().map(|listed| listed.job.state).collect();
        assert_eq!(states, self.jobs.iter().map(Model::state).collect::<Vec<_>>());
        for (Listed { job, attempts }, model) in list.iter().zip(&self.jobs) {
            let outcomes: Vec<_> = attempts.iter().map(|attempt| attempt.outcome.clone()).collect();
            let active = model.active.map(|_| None);
            assert_eq!(outcomes, model.history.iter().cloned().map(Some).chain(active).collect::<Vec<_>>());
            // Stated without the model.
            assert_eq!(job.state == State::Done, outcomes.last() == Some(&Some(Outcome::Exited(0))));
            assert!(job.failures <= job.spec.retries + 1);
        }
        let active = self.queue.active().unwrap();
        assert_eq!(active.iter().map(|active| active.id.job - 1).collect::<Vec<_>>(), {
            self.active().iter().map(|job| *job as i64).collect::<Vec<_>>()
        });
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_job_is_in_the_state_that_follows_from_its_history_and_comes_to_an_end(steps in steps()) {
        let owners = [Owner::new(), Owner::new()];
        let mut world = World { queue: Queue::in_memory(), owners, jobs: Vec::new() };
        for step in steps {
            world.step(step);
            world.check();
        }
        for runner in [0, 1] {
            world.step(Step::Crash { runner });
        }
        // What runs again and exits with 0 is done; nothing waits for ever.
        while world.take(0) {
            world.active().into_iter().for_each(|job| world.end(job, Outcome::Exited(0)));
        }
        world.check();
        assert!(world.jobs.iter().all(|job| job.state().is_final()));
    }
}

#[test]
fn what_was_added_and_used_is_listed() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("queue.sqlite");
    let elsewhere = Queue::open(&home.path().join("none/queue.sqlite")).unwrap_err();
    assert!(matches!(&elsewhere, Error::Usage(why) if why.contains("there is no such directory")), "{elsewhere}");
    let added = Spec {
        env: [("A".to_owned(), "b=c".to_owned())].into(),
        progress_pattern: Some(r"n=(\d+)".parse().unwrap()),
        ..spec(-3, 2)
    };
    let mut queue = Queue::open(&path).unwrap();
    assert_eq!(queue.add(&added, 3).unwrap(), [1, 2, 3]);
    let mut runner = Queue::open_for_runner(&path).unwrap();
    let (job, id) = runner.take(&Owner::new()).unwrap().unwrap();
    assert_eq!((&job.spec, id.to_string().as_str()), (&added, "1-1"));
    let progress = Some(Progress { value: 7.0, rate: Some(2.5), source: Source::Output });
    let usage = Usage { cpu_seconds: Some(0.25), frozen_seconds: Some(1.0), progress };
    runner.started(id, (4321, u64::MAX), Some(Path::new("/group"))).unwrap();
    assert_eq!(queue.active().unwrap()[0].process, Some((4321, u64::MAX)));
    runner.used(&[(id, usage)], true).unwrap();
    let list = queue.list().unwrap();
    let attempt = &list[0].attempts[0];
    assert_eq!((list[0].job.state, attempt.usage, attempt.pid), (State::Frozen, usage, Some(4321)));
    let json = serde_json::to_value(&list[0]).unwrap();
    assert_eq!((&json["progress_pattern"], &json["env"]["A"]), (&r"n=(\d+)".into(), &"b=c".into()));
    assert_eq!(json["attempts"][0]["progress"]["source"], "output");
    assert_eq!((&json["attempts"][0]["outcome"], &json["state"]), (&serde_json::Value::Null, &"frozen".into()));
}

#[test]
fn a_job_of_a_runner_that_has_gone_is_shown_as_lost() {
    let mut queue = Queue::in_memory();
    queue.add(&spec(0, 0), 1).unwrap();
    let gone = Owner { started: u64::MAX / 4, ..Owner::new() };
    queue.take(&gone).unwrap().unwrap();
    assert_eq!(queue.list().unwrap()[0].job.state, State::Lost);
    assert!(queue.active().unwrap()[0].owner.is_gone());
}

#[test]
fn what_cannot_be_a_queue_is_refused_and_left_alone() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("file");
    let refused = || {
        let error = Queue::open(&path).unwrap_err();
        assert!(matches!(error, Error::Usage(_)), "{error}");
        let text = error.to_string();
        assert!(text.contains("--queue") && !text.contains('\n'), "{text}");
        text
    };
    std::fs::write(&path, "text ".repeat(1000)).unwrap();
    refused();
    assert_eq!(std::fs::read(&path).unwrap().len(), 5000);
    std::fs::remove_file(&path).unwrap();
    Connection::open(&path).unwrap().execute_batch("CREATE TABLE other (x)").unwrap();
    assert!(refused().contains("is not a queue"));
    std::fs::remove_file(&path).unwrap();
    Queue::open(&path).unwrap().connection.pragma_update(None, "user_version", 99).unwrap();
    assert!(refused().contains("version 99"));
    let folder = Queue::open(home.path()).unwrap_err();
    assert!(matches!(folder, Error::Failed(_)), "{folder}");
}

#[test]
fn a_runner_does_not_wait_for_a_long_write_of_another_process() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("queue.sqlite");
    let mut other = Queue::open(&path).unwrap();
    other.add(&spec(0, 0), 1).unwrap();
    let mut runner = Queue::open_for_runner(&path).unwrap();
    let owner = Owner::new();
    let busy = other.write(|tables| {
        tables.execute("UPDATE job SET priority = 1", [])?;
        Ok(runner.take(&owner))
    });
    assert!(matches!(busy, Ok(Err(Error::Busy(_)))), "{busy:?}");
    assert!(runner.take(&owner).unwrap().is_some());
}
