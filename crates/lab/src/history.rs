//! Which results there are, and what they say: an index over result directories that can be asked in a moment.
//!
//! It never holds what the directories do not: a text file names them, and a SQLite file caches what was read there. The
//! cache is made anew from the directories whenever it is missing or damaged, so nothing here is worth a backup. Nothing
//! that goes wrong here may spoil a measurement: whoever runs one says it in a warning and goes on.
//!
//! ```text
//! $BRUNT_STATE_DIR, or $XDG_STATE_HOME/brunt, or ~/.local/state/brunt
//!   places          a directory a line: what is to be found again
//!   index-1.sqlite  the cache, in the format of that number; another brunt may have its own beside it
//!   lock            held for a moment while one of them is replaced
//! ```

mod database;
mod entry;
mod filter;
mod places;
mod query;
mod rebuild;
mod scan;
mod schema;
mod since;
mod text;

pub use entry::Kind;
pub use filter::{FAILED, Filter, NamedValue, verdict_words};
pub use query::{Run, Trial};
pub use rebuild::Rebuilt;
pub use since::Since;
pub use text::{runs as runs_text, trials as trials_text};

use crate::Error;
use entry::Entry;
use places::Places;
use rusqlite::Connection;
use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

/// The folder of this user's index.
///
/// # Errors
/// Nothing says where that is.
pub fn folder() -> Result<PathBuf, Error> {
    brunt_results::state_dir::path().map_err(|error| Error::Failed(format!("there is no place for the index: {error}")))
}

/// Writes down that results will be found in a directory, which need not exist yet: one line in a text file.
///
/// # Errors
/// That could not be written.
pub fn register(folder: &Path, dir: &Path) -> Result<(), Error> {
    Places::in_folder(folder).add(&places::canonical_path(dir)?)
}

/// The index of a folder.
#[derive(Debug)]
pub struct Index {
    folder: PathBuf,
    cache: Connection,
    places: Places,
}

impl Index {
    /// Opens the index; begins a new one if it is missing or damaged, which [`Self::refresh`] fills.
    ///
    /// # Errors
    /// The folder cannot be written, or another process has held the index for long.
    pub fn open(folder: &Path) -> Result<Self, Error> {
        Ok(Self { folder: folder.to_owned(), cache: database::open(folder)?, places: Places::in_folder(folder) })
    }

    /// Reads a directory once more and remembers what it holds; false if it holds no results.
    ///
    /// # Errors
    /// The directory, or the index, cannot be read or written.
    pub fn add(&mut self, dir: &Path) -> Result<bool, Error> {
        let place = places::canonical_path(dir)?;
        let Some(entry) = Entry::read(Path::new(&place))? else { return Ok(false) };
        self.places.add(&place)?;
        let entries = [(place, entry)];
        self.query_or_rebuild(|cache| schema::put(cache, &entries))?;
        Ok(true)
    }

    /// Reads what may have changed since: directories that are noted and were never read, those that lacked something, and
    /// those where something was begun anew. What cannot be read is left as it is.
    ///
    /// # Errors
    /// The index cannot be read or written.
    pub fn refresh(&mut self) -> Result<(), Error> {
        let finished = self.query_or_rebuild(|cache| schema::finished(cache))?.into_iter();
        let settled: BTreeSet<String> = finished
            .filter(|(place, stamp)| entry::stamp(Path::new(place)) == *stamp)
            .map(|(place, _)| place)
            .collect();
        let noted: BTreeSet<String> = self.places.all()?.into_iter().collect();
        let found = read(noted.difference(&settled));
        if found.is_empty() { Ok(()) } else { self.query_or_rebuild(|cache| schema::put(cache, &found)) }
    }

    /// Directories that have a result the filter admits, the newest first, and how many there are in all; at most `limit`
    /// of them.
    ///
    /// # Errors
    /// The index cannot be read.
    pub fn runs(&mut self, filter: &Filter, limit: usize) -> Result<(Vec<Run>, usize), Error> {
        self.query_or_rebuild(|cache| query::runs(cache, filter, limit))
    }

    /// Trials that the filter admits, those of the newest directory first, and how many there are in all; at most `limit`
    /// of them.
    ///
    /// # Errors
    /// The index cannot be read.
    pub fn trials(&mut self, filter: &Filter, limit: usize) -> Result<(Vec<Trial>, usize), Error> {
        self.query_or_rebuild(|cache| query::trials(cache, filter, limit))
    }

    /// What the cache answers. If it turns out to be damaged, what a new one does.
    fn query_or_rebuild<T>(&mut self, ask: impl Fn(&mut Connection) -> rusqlite::Result<T>) -> Result<T, Error> {
        let answer = match ask(&mut self.cache) {
            Err(error) if database::is_unusable(&error) => {
                self.cache = database::replace(&self.folder)?;
                let all = read(&self.places.all()?);
                schema::put(&mut self.cache, &all).and_then(|()| ask(&mut self.cache))
            }
            answer => answer,
        };
        answer.map_err(|error| database::explain(&self.folder, &error))
    }
}

/// What these places hold, as far as that can be read.
fn read<'a>(places: impl IntoIterator<Item = &'a String>) -> Vec<(String, Entry)> {
    let one = |place: &String| Some((place.clone(), Entry::read(Path::new(place)).ok()??));
    places.into_iter().filter_map(one).collect()
}
