//! Rebuilding the index from root directories and from listed directories that still exist.

use super::{Index, entry::Entry, places::canonical_path, scan::Found, schema};
use crate::Error;
use std::collections::{BTreeMap, BTreeSet};
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
        let mut found = Found::default();
        for root in roots {
            found.beneath(root)?;
        }
        let mut entries = BTreeMap::new();
        for (path, entry) in found.entries {
            entries.insert(canonical_path(&path)?, entry);
        }
        let identities = self.query_or_rebuild(|cache| run_identities(cache))?;
        let known = self.places.all()?.into_iter().chain(identities.keys().cloned());
        let mut rebuilt = Rebuilt { unreadable: found.unreadable, ..Rebuilt::default() };
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
                .find(|(path, entry)| !identities.contains_key(*path) && RunIdentity::of(entry) == *identity);
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
        self.query_or_rebuild(|cache| schema::replace(cache, &entries))?;
        let places = entries.iter().map(|(path, _)| path).chain(&noted);
        self.places.replace(places.map(String::as_str))?;
        Ok(rebuilt)
    }
}

/// Identifies a run whose directory was moved.
#[derive(Debug, PartialEq, Eq)]
struct RunIdentity {
    kind: String,
    plan: String,
    plan_hash: String,
    started_unix_s: u64,
}

impl RunIdentity {
    fn of(entry: &Entry) -> Self {
        Self {
            kind: entry.kind.word().to_owned(),
            plan: entry.plan.clone(),
            plan_hash: entry.plan_hash.clone(),
            started_unix_s: entry.started_unix_s,
        }
    }
}

fn run_identities(cache: &rusqlite::Connection) -> rusqlite::Result<BTreeMap<String, RunIdentity>> {
    let mut ask = cache.prepare("SELECT path, kind, plan, plan_hash, started_unix_s FROM directory")?;
    let identity = |row: &rusqlite::Row| {
        let started: i64 = row.get(4)?;
        let identity = RunIdentity {
            kind: row.get(1)?,
            plan: row.get(2)?,
            plan_hash: row.get(3)?,
            started_unix_s: started as u64,
        };
        Ok((row.get(0)?, identity))
    };
    ask.query_map([], identity)?.collect()
}
