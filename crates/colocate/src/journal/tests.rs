use super::*;
use crate::fake::{Fake, Layout};
use proptest::prelude::*;

#[test]
fn a_journal_in_use_or_left_over_is_not_overwritten() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("below/a.journal");
    let journal = Journal::create(&path).unwrap();
    let error = Journal::create(&path).unwrap_err().to_string();
    assert!(error.contains("a.journal") && error.contains("brunt colocate recover"), "{error}");
    assert_eq!(all(&home.path().join("below")), std::slice::from_ref(&path));
    let fake = Fake::new(Layout::One);
    assert_eq!(journal.undo(&*fake), Vec::<String>::new());
    assert_eq!(all(&home.path().join("below")), Vec::<PathBuf>::new());
    assert!(recover(&*fake, &path).unwrap_err().to_string().contains("a.journal"));
}

#[test]
fn only_groups_with_our_names_are_removed_and_values_of_another_boot_stay() {
    let fake = Fake::new(Layout::One);
    let foreign = fake.path("memory/user.slice");
    fake.create_dir(&foreign).unwrap();
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("a.journal");
    let mut journal = Journal::create(&path).unwrap();
    journal.record(Change::Group(foreign.clone())).unwrap();
    // Of a process that was just forked: it does not keep the lock.
    let _copy = journal.file.try_clone().unwrap();
    drop(journal);
    let Recovered::Undone { changes: 1, problems } = recover(&*fake, &path).unwrap() else { panic!() };
    assert!(problems[0].contains("left alone") && foreign.exists(), "{problems:?}");
    let mut lines: Vec<String> = fs::read_to_string(&path).unwrap().lines().map(str::to_owned).collect();
    lines[0] = lines[0].replace(&Owner::this_process().boot, "another");
    fs::write(&path, lines.join("\n") + "\n").unwrap();
    assert_eq!(recover(&*fake, &path).unwrap(), Recovered::EarlierBoot);
    assert!(!path.exists() && foreign.exists());
}

#[test]
fn lines_that_are_no_changes_are_reported_and_the_others_undone() {
    let fake = Fake::new(Layout::One);
    let file = fake.path("pids/pids.max");
    let before = fake.snapshot();
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("a.journal");
    let mut journal = Journal::create(&path).unwrap();
    journal.set(&*fake, &file, "7").unwrap();
    drop(journal);
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text + "nonsense\n").unwrap();
    let Recovered::Undone { problems, .. } = recover(&*fake, &path).unwrap() else { panic!() };
    assert!(problems.len() == 1 && problems[0].contains("nonsense"), "{problems:?}");
    assert_eq!(fake.snapshot(), before);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// A process that dies at any byte of the journal, before or after the change of its last line, is undone byte for byte.
    #[test]
    fn a_crash_at_any_byte_is_undone(
        changes in prop::collection::vec((0usize..3, "[a-z0-9 ]{1,12}"), 1..8),
        cut in any::<prop::sample::Index>(),
        made in any::<bool>(),
    ) {
        let fake = Fake::new(Layout::One);
        let names = ["pids/pids.max", "cpu,cpuacct/cpu.shares", "memory/memory.limit_in_bytes"];
        let before = fake.snapshot();
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("a.journal");
        let mut journal = Journal::create(&path).unwrap();
        // The length of the journal before each change, and the state then.
        let mut states = vec![(journal.length, before.clone())];
        for (file, value) in changes {
            journal.set(&*fake, &fake.path(names[file]), &value).unwrap();
            states.push((journal.length, fake.snapshot()));
        }
        let length = journal.length;
        drop(journal);
        let cut = states[0].0 + cut.index((length - states[0].0 + 1) as usize) as u64;
        fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(cut).unwrap();
        // Complete lines; the change of the last one may not have been made.
        let complete = states.iter().filter(|(length, _)| *length <= cut).count();
        let state = &states[if made { complete - 1 } else { complete.saturating_sub(2) }].1;
        for (file, contents) in state.iter().filter(|(file, _)| file.is_file()) {
            fs::write(file, contents).unwrap();
        }
        for _ in 0..2 {
            if path.exists() {
                let is_undone = matches!(recover(&*fake, &path).unwrap(), Recovered::Undone { ref problems, .. } if problems.is_empty());
                prop_assert!(is_undone);
            }
            prop_assert_eq!(&fake.snapshot(), &before);
        }
        prop_assert!(!path.exists());
    }
}
