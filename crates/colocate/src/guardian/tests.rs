use super::*;
use crate::cgroup::{Group, enter};
use crate::fake::{Fake, LAYOUTS};
use crate::journal::Journal;
use std::io::Write as _;
use std::sync::{Arc, Mutex};

/// Heartbeats over a pipe: late ones freeze and are not followed by a thaw, and the end of the pipe undoes everything.
#[test]
fn late_heartbeats_freeze_and_their_end_undoes_everything() {
    for layout in LAYOUTS {
        let fake = Fake::new(layout);
        let before = fake.snapshot();
        let home = tempfile::tempdir().unwrap();
        let mut journal = Journal::create(&home.path().join("a.journal")).unwrap();
        let options = Options {
            journal: journal.path().to_owned(),
            period: Duration::from_millis(20),
            grace: Duration::from_millis(50),
        };
        let (read, mut write) = io::pipe().unwrap();
        let lines = Arc::new(Mutex::new(Vec::new()));
        let (files, log) = (fake.clone(), lines.clone());
        let guardian = thread::spawn(move || {
            run(&*files, read, &options, &mut |line| log.lock().unwrap().push(line.to_owned())).unwrap()
        });
        let files: Arc<dyn Files> = fake.clone();
        let group = Group::create(files, &fake.hierarchies(), false, &mut journal).unwrap();
        enter(&*fake, group.dirs(), "4000000").unwrap();
        // No heartbeat yet: nothing happens.
        thread::sleep(Duration::from_millis(200));
        assert!(!group.is_frozen() && lines.lock().unwrap().is_empty());
        for _ in 0..2 {
            write.write_all(b".").unwrap();
            let frozen = poll(Duration::from_secs(20), every(1), || group.is_frozen().then_some(()));
            assert!(frozen.is_some(), "{layout:?}");
        }
        let back = || lines.lock().unwrap().iter().any(|line| line.contains("are back")).then_some(());
        assert!(poll(Duration::from_secs(20), every(1), back).is_some() && group.is_frozen());
        drop((journal, write));
        assert_eq!(guardian.join().unwrap(), Ended::Suddenly { problems: Vec::new() });
        assert_eq!(fake.snapshot(), before, "{layout:?}");
        assert!(lines.lock().unwrap().iter().any(|line| line.contains("controller is gone")), "{lines:?}");
        assert!(home.path().read_dir().unwrap().next().is_none());
    }
}

#[test]
fn a_controller_that_undid_its_changes_is_done() {
    let fake = Fake::new(LAYOUTS[0]);
    let home = tempfile::tempdir().unwrap();
    let options = Options {
        journal: home.path().join("none.journal"),
        period: Duration::from_millis(20),
        grace: Duration::from_secs(60),
    };
    let (read, write) = io::pipe().unwrap();
    drop(write);
    assert_eq!(run(&*fake, read, &options, &mut |line| panic!("{line}")).unwrap(), Ended::Properly);
}
