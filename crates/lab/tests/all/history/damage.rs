//! Damaged index files and concurrent processes.

use super::scene::Scene;
use brunt_lab::history::{Filter, Index, register};
use brunt_results::Error;
use proptest::prelude::*;
use std::{fs, os::unix::fs::PermissionsExt as _, path::PathBuf, thread};

fn file(scene: &Scene) -> PathBuf {
    let entries = fs::read_dir(scene.state()).unwrap().flatten().map(|entry| entry.path());
    entries.into_iter().find(|path| path.extension().is_some_and(|extension| extension == "sqlite")).unwrap()
}

fn count(scene: &Scene) -> usize {
    let mut index = scene.index();
    index.refresh().unwrap();
    index.trials(&Filter::default(), 100).unwrap().1
}

fn filled() -> Scene {
    let scene = Scene::new();
    for number in 0..4 {
        let trials = [("a", 1, 100e3, 2_000.0), ("b", 1, 90e3, 7_000.0)];
        scene.run(&format!("runs/{number}"), "alpha", 1_000_000 + number, &trials);
        scene.index().add(&scene.path(&format!("runs/{number}"))).unwrap();
    }
    scene
}

#[test]
fn an_unusable_index_is_rebuilt() {
    let scene = filled();
    assert_eq!(count(&scene), 8);
    let file = file(&scene);
    fs::remove_file(&file).unwrap();
    assert_eq!(count(&scene), 8);
    fs::write(&file, "").unwrap();
    assert_eq!(count(&scene), 8);
    fs::write(&file, "not a database, and longer than the header of one: ".repeat(50)).unwrap();
    assert_eq!(count(&scene), 8);
    // A valid database of another program.
    fs::remove_file(&file).unwrap();
    let other = rusqlite::Connection::open(&file).unwrap();
    other.execute_batch("CREATE TABLE other (x); INSERT INTO other VALUES (1)").unwrap();
    drop(other);
    assert_eq!(count(&scene), 8);
    // The right application id with incomplete tables.
    rusqlite::Connection::open(&file).unwrap().execute_batch("ALTER TABLE trial DROP COLUMN why").unwrap();
    assert_eq!(count(&scene), 8);
    assert!(scene.index().add(&scene.path("runs/1")).unwrap());
    rusqlite::Connection::open(&file).unwrap().execute_batch("DROP TABLE value").unwrap();
    assert!(scene.index().add(&scene.path("runs/1")).unwrap());
    assert_eq!(count(&scene), 8);
}

/// A file of the version before, here without the newest figure, has runs whose directories are gone.
#[test]
fn an_index_of_the_version_before_is_taken_over() {
    let scene = filled();
    let all = |scene: &Scene| {
        let mut index = scene.index();
        index.refresh().unwrap();
        serde_json::to_value(index.trials(&Filter::default(), 100).unwrap().0).unwrap()
    };
    let before = all(&scene);
    let newer = file(&scene);
    let older = newer.with_file_name("index-2.sqlite");
    fs::rename(&newer, &older).unwrap();
    let file = rusqlite::Connection::open(&older).unwrap();
    file.execute_batch("ALTER TABLE trial DROP COLUMN rss_bytes; PRAGMA user_version = 2").unwrap();
    drop(file);
    fs::remove_dir_all(scene.path("runs/1")).unwrap();
    let mut after = all(&scene);
    let gone = after.as_array().unwrap().iter().filter(|trial| trial["gone"] == true).count();
    assert_eq!((gone, newer.exists(), older.exists()), (2, true, true));
    after.as_array_mut().unwrap().iter_mut().for_each(|trial| trial["gone"] = false.into());
    assert_eq!(after, before);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]
    #[test]
    fn damage_causes_neither_errors_nor_wrong_results(at in 0.0f64..1.0, length in 1usize..600, byte: u8, cut: bool) {
        let scene = filled();
        let file = file(&scene);
        let mut bytes = fs::read(&file).unwrap();
        let start = (at * bytes.len() as f64) as usize;
        if cut {
            bytes.truncate(start);
        } else {
            let end = (start + length).min(bytes.len());
            bytes[start..end].fill(byte);
        }
        fs::write(&file, bytes).unwrap();
        // Values changed without corrupting a page are repaired by a rebuild.
        let mut index = scene.index();
        let rebuilt = index.rebuild(&[]).unwrap();
        prop_assert_eq!((rebuilt.directories, rebuilt.trials), (4, 8));
        prop_assert_eq!(count(&scene), 8);
    }
}

#[test]
fn concurrent_writers_wait_for_each_other() {
    let scene = Scene::new();
    for number in 0..8 {
        scene.run(&format!("runs/{number}"), "alpha", 1_000_000 + number, &[("a", 1, 100e3, 2_000.0)]);
    }
    thread::scope(|scope| {
        for number in 0..8 {
            let scene = &scene;
            // A connection each, as processes have.
            scope.spawn(move || {
                let dir = scene.path(&format!("runs/{number}"));
                register(&scene.state(), &dir).unwrap();
                let mut index = scene.index();
                (0..5).for_each(|_| assert!(index.add(&dir).unwrap()));
                index.runs(&Filter::default(), 100).unwrap();
            });
        }
    });
    assert_eq!(count(&scene), 8);
    assert_eq!(fs::read_to_string(scene.state().join("places")).unwrap().split_whitespace().count(), 8);
}

#[test]
fn an_unwritable_folder_is_an_error_with_a_remedy() {
    let scene = Scene::new();
    fs::write(scene.path("file"), "").unwrap();
    let error = Index::open(&scene.path("file/state")).unwrap_err();
    assert!(matches!(&error, Error::Failed(why) if why.contains("file/state: ") && why.contains("BRUNT_STATE_DIR")));
    assert!(register(&scene.path("file/state"), &scene.path("x")).is_err());
    // Faults that hold for root too: directories in the place of the files.
    for (name, fault) in [("blocked", "index-3.sqlite"), ("noted", "places"), ("held", "lock")] {
        fs::create_dir_all(scene.path(name).join(fault)).unwrap();
    }
    let error = Index::open(&scene.path("blocked")).unwrap_err().to_string();
    assert!(error.contains("blocked/index-3.sqlite: ") && error.contains("BRUNT_STATE_DIR"), "{error}");
    let error = register(&scene.path("noted"), &scene.path("x")).unwrap_err().to_string();
    assert!(error.contains("noted/places: "), "{error}");
    let error = register(&scene.path("held"), &scene.path("x")).unwrap_err().to_string();
    assert!(error.contains("held/lock: "), "{error}");
    if !rustix::process::geteuid().is_root() {
        fs::create_dir(scene.path("locked")).unwrap();
        fs::set_permissions(scene.path("locked"), fs::Permissions::from_mode(0o500)).unwrap();
        let error = Index::open(&scene.path("locked")).unwrap_err().to_string();
        assert!(error.contains("BRUNT_STATE_DIR"), "{error}");
    }
}
