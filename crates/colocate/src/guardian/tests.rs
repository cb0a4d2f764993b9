//! The guardian in given time, and over a pipe.

use super::*;
use crate::cgroup::{Group, enter};
use crate::clock::given::Given;
use crate::fake::{Fake, LAYOUTS};
use crate::journal::Journal;
use std::io::Write as _;
use std::sync::Arc;
use std::time::Instant;

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// A controller that makes its group, sends heartbeats at these times, and ends.
struct Script<'a> {
    time: &'a Given,
    fake: &'a Arc<Fake>,
    journal: Option<Journal>,
    make_group: Option<Duration>,
    beats: &'a [u64],
    end: Duration,
}

impl Heartbeats for Script<'_> {
    fn next(&mut self, until: Option<Instant>) -> io::Result<Heard> {
        let until = until.map(|until| until - self.time.at(Duration::ZERO));
        let beat = self.beats.first().map(|beat| ms(*beat));
        let next = beat.into_iter().chain(until).chain([self.end]).min().unwrap();
        if self.make_group.is_some_and(|at| at <= next) {
            self.time.set(self.make_group.take().unwrap());
            let (files, journal): (Arc<dyn Files>, _) = (self.fake.clone(), self.journal.as_mut().unwrap());
            let group = Group::create(files, &self.fake.hierarchies(), false, journal).unwrap();
            enter(&**self.fake, group.dirs(), "4000000").unwrap();
        }
        self.time.set(next);
        if beat == Some(next) {
            self.beats = &self.beats[1..];
            return Ok(Heard::Beat);
        }
        if until == Some(next) {
            return Ok(Heard::Nothing);
        }
        self.journal = None;
        Ok(Heard::End)
    }
}

/// Late heartbeats freeze and are not followed by a thaw, and their end undoes everything.
#[test]
fn late_heartbeats_freeze_and_their_end_undoes_everything() {
    for layout in LAYOUTS {
        let (time, fake) = (Given::begin(), Fake::new(layout));
        let before = fake.snapshot();
        let home = tempfile::tempdir().unwrap();
        let journal = Journal::create(&home.path().join("a.journal")).unwrap();
        let options = Options { journal: journal.path().to_owned(), period: ms(20), grace: ms(50) };
        let mut script = Script {
            time: &time,
            fake: &fake,
            journal: Some(journal),
            // 60 ms after the first heartbeat there is no group yet; the guardian waits for the next one.
            make_group: Some(ms(500)),
            beats: &[100, 1_000, 1_059, 1_300, 1_310, 1_360],
            end: ms(1_500),
        };
        let mut lines = Vec::new();
        let mut log = |line: &str| lines.push((time.time(), line.to_owned()));
        let ended = guard(&*fake, &mut script, &options, &mut log).unwrap();
        assert_eq!(ended, Ended::Suddenly { problems: Vec::new() }, "{layout:?}");
        let (late, back) =
            ("no heartbeat for 60ms: the jobs are frozen", "heartbeats are back: the jobs are left to the controller");
        let expected = [
            (1_119, late),
            (1_300, back),
            (1_420, late),
            (1_500, "the controller is gone: its jobs are frozen and end in 50ms"),
        ];
        assert_eq!(lines, expected.map(|(at, line)| (ms(at), line.to_owned())), "{layout:?}");
        // Each time again as long as none comes, and at the end; never thawed.
        let freezes = |text: &str| ["1", "FROZEN"].contains(&text.trim());
        let writes = fake.writes.lock().unwrap();
        let of_freezer: Vec<&String> = writes
            .iter()
            .filter(|(path, _)| path.ends_with("cgroup.freeze") || path.ends_with("freezer.state"))
            .map(|(_, text)| text)
            .take_while(|text| freezes(text))
            .collect();
        assert!(of_freezer.len() >= 6, "{layout:?}: {of_freezer:?}");
        drop(writes);
        assert_eq!(time.time(), ms(1_550), "{layout:?}");
        assert_eq!(fake.snapshot(), before, "{layout:?}");
        assert!(home.path().read_dir().unwrap().next().is_none());
    }
}

#[test]
fn heartbeats_come_over_a_pipe() {
    let (read, mut write) = io::pipe().unwrap();
    let mut pipe = Pipe(&read);
    let now = clock::now();
    assert_eq!(pipe.next(Some(now)).unwrap(), Heard::Nothing);
    write.write_all(b"..").unwrap();
    assert_eq!(pipe.next(Some(now)).unwrap(), Heard::Beat);
    write.write_all(b".").unwrap();
    assert_eq!(pipe.next(None).unwrap(), Heard::Beat);
    drop(write);
    assert_eq!(pipe.next(None).unwrap(), Heard::End);
}

#[test]
fn a_controller_that_undid_its_changes_is_done() {
    let fake = Fake::new(LAYOUTS[0]);
    let home = tempfile::tempdir().unwrap();
    let options = Options { journal: home.path().join("none.journal"), period: ms(20), grace: Duration::from_secs(60) };
    let (read, write) = io::pipe().unwrap();
    drop(write);
    assert_eq!(run(&*fake, read, &options, &mut |line| panic!("{line}")).unwrap(), Ended::Properly);
}
