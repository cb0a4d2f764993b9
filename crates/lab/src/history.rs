//! Index of result directories, for queries over past runs.
//!
//! A text file lists the directories, an SQLite file caches their contents. The cache is rebuilt from the directories
//! if it is missing or damaged. Errors of the index never fail a measurement: callers print a warning.
//!
//! ```text
//! $BRUNT_STATE_DIR, or $XDG_STATE_HOME/brunt, or ~/.local/state/brunt
//!   places          directories, one per line
//!   index-3.sqlite  cache; the number is its format version
//!   lock            held while one of them is replaced
//! ```

mod database;
mod entry;
mod figures;
mod filter;
mod places;
mod query;
mod rebuild;
mod schema;
mod since;
mod text;

pub use entry::Kind;
pub use figures::Figures;
pub use filter::{FAILED, Filter, NamedValue, bound, verdict_words};
pub use query::{Run, Trial};
pub use rebuild::Rebuilt;
pub use since::Since;
pub use text::{runs as runs_text, trials as trials_text};

use brunt_results::Error;
use entry::Entry;
use places::Places;
use rusqlite::Connection;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

pub fn folder() -> Result<PathBuf, Error> {
    brunt_results::state_dir::path().map_err(|error| Error::Failed(format!("there is no place for the index: {error}")))
}

/// Adds a directory, which need not exist yet, to the list.
pub fn register(folder: &Path, dir: &Path) -> Result<(), Error> {
    Places::in_folder(folder).add(&places::canonical_path(dir)?)
}

/// Whether a directory, given by its canonical path, is on the list.
pub fn is_listed(folder: &Path, dir: &Path) -> Result<bool, Error> {
    Ok(Places::in_folder(folder).all()?.iter().any(|place| Path::new(place) == dir))
}

#[derive(Debug)]
pub struct Index {
    folder: PathBuf,
    cache: Connection,
    places: Places,
}

impl Index {
    /// Opens the index. A missing or damaged one is replaced by an empty one, which [`Self::refresh`] fills.
    pub fn open(folder: &Path) -> Result<Self, Error> {
        Ok(Self { folder: folder.to_owned(), cache: database::open(folder)?, places: Places::in_folder(folder) })
    }

    /// Reads a directory into the index; false if it has no results.
    pub fn add(&mut self, dir: &Path) -> Result<bool, Error> {
        let place = places::canonical_path(dir)?;
        let Some(entry) = Entry::read(Path::new(&place))? else { return Ok(false) };
        self.places.add(&place)?;
        let entries = [(place, entry)];
        self.query_or_rebuild(|cache| schema::put(cache, &entries, false))?;
        Ok(true)
    }

    /// Reads listed directories that are new, unfinished or changed. Unreadable ones keep their entries.
    pub fn refresh(&mut self) -> Result<(), Error> {
        let finished = self.query_or_rebuild(|cache| schema::finished(cache))?.into_iter();
        let settled: BTreeSet<String> = finished
            .filter(|(place, stamp)| entry::stamp(Path::new(place)) == *stamp)
            .map(|(place, _)| place)
            .collect();
        let noted: BTreeSet<String> = self.places.all()?.into_iter().collect();
        let found = read(noted.difference(&settled));
        if found.is_empty() { Ok(()) } else { self.query_or_rebuild(|cache| schema::put(cache, &found, false)) }
    }

    /// The newest `limit` directories with a matching result, and the number of all.
    pub fn runs(&mut self, filter: &Filter, limit: usize) -> Result<(Vec<Run>, usize), Error> {
        self.query_or_rebuild(|cache| query::runs(cache, filter, limit))
    }

    /// The first `limit` matching trials, newest directory first, and the number of all.
    pub fn trials(&mut self, filter: &Filter, limit: usize) -> Result<(Vec<Trial>, usize), Error> {
        self.query_or_rebuild(|cache| query::trials(cache, filter, limit))
    }

    /// Queries the cache; rebuilds it first if it turns out to be damaged.
    fn query_or_rebuild<T>(&mut self, ask: impl Fn(&mut Connection) -> rusqlite::Result<T>) -> Result<T, Error> {
        let answer = match ask(&mut self.cache) {
            Err(error) if database::is_unusable(&error) => {
                self.cache = database::replace(&self.folder)?;
                let all = read(&self.places.all()?);
                schema::put(&mut self.cache, &all, false).and_then(|()| ask(&mut self.cache))
            }
            answer => answer,
        };
        answer.map_err(|error| database::explain(&self.folder, &error))
    }
}

fn read<'a>(places: impl IntoIterator<Item = &'a String>) -> Vec<(String, Entry)> {
    let one = |place: &String| Some((place.clone(), Entry::read(Path::new(place)).ok()??));
    places.into_iter().filter_map(one).collect()
}
