//! Rebuilding the index from root directories and from listed directories that still exist.

use super::{Index, entry::Entry, places::canonical_path, schema};
use brunt_results::Error;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rebuilt {
    pub directories: usize,
    pub trials: usize,
    /// Listed directories found elsewhere, with old and new path.
    pub moved: Vec<(String, String)>,
    /// Listed directories that were removed from the index.
    pub forgotten: Vec<String>,
    pub unreadable: Vec<String>,
}

impl Index {
    pub fn rebuild(&mut self, roots: &[PathBuf]) -> Result<Rebuilt, Error> {
        let (mut entries, mut rebuilt) = (BTreeMap::new(), Rebuilt::default());
        for root in roots {
            find_beneath(root, &mut entries, &mut rebuilt.unreadable)?;
        }
        let identities = self.query_or_rebuild(|cache| run_identities(cache))?;
        let known = self.places.all()?.into_iter().chain(identities.keys().cloned());
        // Listed directories without results are kept: a run may just have begun.
        let mut noted = Vec::new();
        let mut gone = Vec::new();
        for place in known.collect::<BTreeSet<String>>() {
            if entries.contains_key(&place) {
                continue;
            }
            match Entry::read(Path::new(&place)) {
                Ok(Some(entry)) => {
                    entries.insert(place, entry);
                }
                Ok(None) if identities.contains_key(&place) => gone.push(place),
                Ok(None) if Path::new(&place).is_dir() => noted.push(place),
                Ok(None) => {}
                Err(error) => {
                    rebuilt.unreadable.push(error.to_string());
                    noted.push(place);
                }
            }
        }
        for place in gone {
            let identity = &identities[&place];
            let there = entries
                .iter()
                .find(|(path, entry)| !identities.contains_key(*path) && run_identity(entry) == *identity);
            match there {
                Some((path, _)) => rebuilt.moved.push((place, path.clone())),
                None => rebuilt.forgotten.push(place),
            }
        }
        rebuilt.unreadable.sort();
        rebuilt.unreadable.dedup();
        rebuilt.directories = entries.len();
        rebuilt.trials = entries.values().flat_map(|entry| &entry.cells).map(|cell| cell.trials.len()).sum();
        let mut entries: Vec<(String, Entry)> = entries.into_iter().collect();
        entries.sort_by_key(|(_, entry)| entry.started_unix_s);
        self.query_or_rebuild(|cache| schema::put(cache, &entries, true))?;
        let places = entries.iter().map(|(path, _)| path).chain(&noted);
        self.places.replace(places.map(String::as_str))?;
        Ok(rebuilt)
    }
}

/// Kind, plan, hash of the plan and start: identifies a run whose directory was moved.
type RunIdentity = (String, String, String, i64);

fn run_identity(entry: &Entry) -> RunIdentity {
    let started = schema::signed(entry.started_unix_s);
    (entry.kind.word().to_owned(), entry.plan.clone(), entry.plan_hash.clone(), started)
}

fn run_identities(cache: &rusqlite::Connection) -> rusqlite::Result<BTreeMap<String, RunIdentity>> {
    let mut ask = cache.prepare("SELECT path, kind, plan, plan_hash, started_unix_s FROM directory")?;
    let identity = |row: &rusqlite::Row| Ok((row.get(0)?, (row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?)));
    ask.query_map([], identity)?.collect()
}

/// Finds the result directories beneath a root. Does not follow symbolic links and does not descend into result
/// directories.
fn find_beneath(root: &Path, entries: &mut BTreeMap<String, Entry>, unreadable: &mut Vec<String>) -> Result<(), Error> {
    fs::read_dir(root).map_err(|error| Error::Usage(format!("{}: {error}", root.display())))?;
    let mut rest = vec![root.to_owned()];
    while let Some(dir) = rest.pop() {
        match Entry::read(&dir) {
            Ok(Some(entry)) => {
                entries.insert(canonical_path(&dir)?, entry);
            }
            Ok(None) => match fs::read_dir(&dir) {
                Ok(within) => rest.extend(directories(within)),
                Err(error) => unreadable.push(format!("{}: {error}", dir.display())),
            },
            Err(error) => unreadable.push(error.to_string()),
        }
    }
    Ok(())
}

fn directories(within: fs::ReadDir) -> impl Iterator<Item = PathBuf> {
    within.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())).map(|entry| entry.path())
}
