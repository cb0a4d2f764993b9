//! The controller and its guardian: what happens when the controller is held up or killed, to the millisecond.

use super::bench::{BOUNDS, Bench, ms, plan};
use crate::actuators::{Actuators, Settings};
use crate::allotment::Allotment;
use crate::cgroup::enter;
use crate::clock::given::Given;
use crate::controller::coordinator::{Action, Coordinator, HEARTBEAT};
use crate::fake::{Fake, LAYOUTS};
use crate::guardian::{Ended, Heard, Heartbeats, Options, guard};
use crate::journal::Journal;
use crate::readings::Readings;
use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

#[test]
fn a_controller_that_is_held_up_finds_its_jobs_frozen_after_300_ms_and_thaws_them_at_once() {
    for (pause, is_frozen) in [(250, false), (299, false), (300, true), (10_000, true)] {
        let mut bench = Bench::new(&plan("static=1", ""));
        // The last heartbeat before is at 2.0 s.
        bench.pauses.push((ms(2_050), ms(2_000 + pause)));
        bench.run(ms(2_001 + pause));
        assert_eq!(bench.group, Allotment::cores(1.0), "{pause}");
        let (frozen, back) = if is_frozen { (vec![ms(2_300)], vec![ms(2_000 + pause)]) } else { Default::default() };
        assert_eq!((&bench.frozen_by_guardian, &bench.back), (&frozen, &back), "{pause}");
        let last = bench.steps.last().unwrap();
        assert_eq!(last.at, ms(2_000 + pause));
        assert!(matches!(last.actions[..], [Action::Beat, Action::Apply(_), Action::Jobs { .. }, ..]), "{last:?}");
        bench.run(ms(20_000));
        assert_eq!((&bench.frozen_by_guardian, &bench.back), (&frozen, &back), "{pause}");
    }
}

#[test]
fn the_jobs_of_a_controller_that_hangs_stay_frozen() {
    let mut bench = Bench::new(&plan("static=1", ""));
    bench.pauses.push((ms(2_050), ms(60_000)));
    bench.run(ms(2_300));
    assert!(!bench.group.is_frozen());
    for at in [2_301, 10_000, 59_999] {
        bench.run(ms(at));
        assert!(bench.group.is_frozen(), "{at}");
    }
    assert!(bench.frozen_by_guardian == [ms(2_300)] && bench.back.is_empty());
}

/// A guardian that is late itself may freeze the group just after the controller is back.
#[test]
fn a_freeze_that_comes_too_late_is_undone_at_the_next_check() {
    let mut bench = Bench::new(&plan("static=1", ""));
    bench.run(ms(4_321));
    bench.group = Allotment::FROZEN;
    bench.run(ms(6_000));
    assert!(bench.group.is_frozen());
    bench.run(ms(6_001));
    assert_eq!(bench.group, Allotment::cores(1.0));
}

/// The controller's end of the heartbeats: it steps whenever the guardian waits, on control files.
struct Controlled<'a> {
    time: &'a Given,
    coordinator: Coordinator,
    actuators: Actuators,
    /// Dropped when the controller ends.
    journal: Option<Journal>,
    /// Of the step that has begun.
    actions: VecDeque<Action>,
    pause: (Duration, Duration),
    killed: Duration,
}

impl Controlled<'_> {
    fn next_step(&self) -> Duration {
        let at = self.coordinator.last().map_or(Duration::ZERO, |_| self.since(self.coordinator.wake().latest));
        let (from, to) = self.pause;
        if (from..to).contains(&at) { to } else { at }
    }

    fn since(&self, at: Instant) -> Duration {
        at - self.time.at(Duration::ZERO)
    }
}

impl Heartbeats for Controlled<'_> {
    fn next(&mut self, until: Option<Instant>) -> io::Result<Heard> {
        loop {
            match self.actions.pop_front() {
                Some(Action::Beat) => return Ok(Heard::Beat),
                Some(Action::Apply(allotment)) => {
                    let applied = self.actuators.apply(allotment);
                    assert_eq!(applied.faults, []);
                    assert_eq!(self.actuators.group().is_frozen(), allotment.is_frozen());
                    self.coordinator.applied(applied.is_freezing);
                }
                Some(_) => {}
                None => {
                    let (step, until) = (self.next_step(), until.map(|until| self.since(until)));
                    let next = until.into_iter().chain([step, self.killed]).min().unwrap();
                    self.time.set(next);
                    if Some(next) == until {
                        return Ok(Heard::Nothing);
                    }
                    if next == self.killed {
                        self.journal = None;
                        return Ok(Heard::End);
                    }
                    let now = self.time.at(next);
                    self.actions.extend(self.coordinator.step(now, Readings::default()));
                }
            }
        }
    }
}

#[test]
fn the_jobs_of_a_killed_controller_are_frozen_at_once_and_gone_after_the_grace() {
    for layout in LAYOUTS {
        let (time, fake) = (Given::begin(), Fake::new(layout));
        let (before, home) = (fake.snapshot(), tempfile::tempdir().unwrap());
        let mut journal = Journal::create(&home.path().join("a.journal")).unwrap();
        let path = journal.path().to_owned();
        let settings = Settings::new(vec![0], BOUNDS.floor);
        let actuators = Actuators::on(fake.clone(), &fake.hierarchies(), &settings, &mut journal).unwrap();
        let dirs = actuators.dirs();
        enter(&*fake, &dirs, "4000000").unwrap();
        let mut controlled = Controlled {
            time: &time,
            coordinator: Coordinator::new(&plan("static=1", ""), BOUNDS, time.at(Duration::ZERO)),
            actuators,
            journal: Some(journal),
            actions: VecDeque::new(),
            pause: (ms(2_050), ms(3_000)),
            killed: ms(5_040),
        };
        let options = Options { journal: path.clone(), period: HEARTBEAT, grace: Duration::from_secs(2) };
        let mut said = Vec::new();
        let mut log = |line: &str| said.push((time.time(), line.to_owned()));
        let files: Arc<Fake> = fake.clone();
        assert_eq!(
            guard(&*files, &mut controlled, &options, &mut log).unwrap(),
            Ended::Suddenly { problems: Vec::new() }
        );
        let expected = [
            (2_300, "no heartbeat for 300ms: the jobs are frozen"),
            (3_000, "heartbeats are back: the jobs are left to the controller"),
            (5_040, "the controller is gone: its jobs are frozen and end in 2s"),
        ];
        assert_eq!(said, expected.map(|(at, line)| (ms(at), line.to_owned())), "{layout:?}");
        assert_eq!(time.time(), ms(7_040), "{layout:?}");
        assert_eq!(fake.snapshot(), before, "{layout:?}");
        assert!(!path.exists());
    }
}
